"""Rasters to read: written by rasterio, and judged by formulas and by our own bilinear sampling."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write(
    path, values, transform, crs, *, driver="GTiff", no_data=None, scale=None, offset=None, unit=None, mask=None, **options
):
    import rasterio

    rows, columns = values.shape
    with rasterio.open(
        path, "w", driver=driver, height=rows, width=columns, count=1, dtype=values.dtype, crs=crs, transform=transform,
        nodata=no_data, **options,
    ) as file:  # fmt: skip
        file.write(values, 1)
        if scale is not None:
            file.scales = (scale,)
        if offset is not None:
            file.offsets = (offset,)
        if unit is not None:
            file.units = (unit,)
        if mask is not None:
            file.write_mask(mask)
    return path


def sample_file(path: Path) -> Path:
    """The SRTM sample inside matplotlib's wheel as a GeoTIFF: 403 x 344 pixels of three arc seconds."""
    import matplotlib
    from rasterio.transform import from_origin

    data = np.load(Path(matplotlib.get_data_path()) / "sample_data" / "jacksboro_fault_dem.npz")
    transform = from_origin(float(data["xmin"]), float(max(data["ymin"], data["ymax"])), float(data["dx"]), float(data["dy"]))
    return write(path, data["elevation"], transform, "EPSG:4326")


def bilinear(values, x, y, transform):
    """Heights at places of the raster's own system: values are at the middles of pixels."""
    inverse = ~transform
    column = inverse.a * x + inverse.b * y + inverse.c - 0.5
    row = inverse.d * x + inverse.e * y + inverse.f - 0.5
    j, i = np.floor(column).astype(int), np.floor(row).astype(int)
    j, i = np.clip(j, 0, values.shape[1] - 2), np.clip(i, 0, values.shape[0] - 2)
    u, v = column - j, row - i
    top = values[i, j] * (1 - u) + values[i, j + 1] * u
    bottom = values[i + 1, j] * (1 - u) + values[i + 1, j + 1] * u
    return top * (1 - v) + bottom * v
