"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const make = (tag, text, className) => {
    const element = document.createElement(tag);
    // Text from files goes in as text, never as markup.
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };

  // ---- head ----
  at("title").textContent = data.title;
  at("summary").textContent = (data.above ? data.above.slice(0, -1) + ": " : "") + data.summary;
  for (const [name, value] of data.facts) {
    const box = make("div");
    box.append(make("dt", name), make("dd", value));
    at("facts").append(box);
  }

  // ---- table ----
  const KINDS = ["hard", "containment", "duplicate", "clearance", "contact"];
  const name = (row) => data.names[row] || "";
  // What all names begin with is said once.
  const short = (row) => (name(row).startsWith(data.above) ? name(row).slice(data.above.length) : name(row));
  const severity = (c) => (c.kind === "clearance" || c.kind === "contact" ? -(c.gap || 0) : c.kind === "duplicate" ? 0 : c.depth === null ? 1e300 : c.depth);
  const COLUMNS = [
    ["#", (c) => c.rank],
    ["kind", (c) => KINDS.indexOf(c.kind)],
    ["part A", (c) => name(c.a)],
    ["part B", (c) => name(c.b)],
    ["depth or gap", severity],
    ["volume", (c) => (c.volume === null ? -1 : c.volume)],
    ["status", (c) => c.status + " " + c.assignee],
    ["id", (c) => c.id],
  ];
  data.clashes.forEach((c, k) => { c.rank = k + 1; });
  const state = { sort: 0, up: true, shown: 300, chosen: null, open: new Set(), kinds: new Set(Object.keys(data.kinds)) };
  const grouped = at("grouped");
  grouped.checked = data.groups.some((group) => group.count > 1);

  COLUMNS.forEach(([label], k) => {
    const head = make("th", label);
    head.tabIndex = 0;
    head.setAttribute("role", "columnheader");
    const sort = () => {
      state.up = state.sort === k ? !state.up : k !== 4 && k !== 5;
      state.sort = k;
      draw();
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
    at("head").append(head);
  });
  for (const kind of KINDS.filter((one) => data.kinds[one])) {
    const label = make("label");
    const box = make("input");
    box.type = "checkbox";
    box.checked = true;
    box.dataset.kind = kind;
    box.addEventListener("change", () => { box.checked ? state.kinds.add(kind) : state.kinds.delete(kind); draw(); });
    label.append(box, " " + kind + " " + data.kinds[kind]);
    at("kinds").append(label);
  }
  at("filter").addEventListener("input", draw);
  grouped.addEventListener("change", draw);
  at("more").addEventListener("click", () => { state.shown += 1000; draw(); });

  function visible() {
    const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (c) => {
      if (!state.kinds.has(c.kind)) return false;
      const text = [c.kind, name(c.a), name(c.b), c.id, c.status, c.assignee, c.note].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const key = COLUMNS[state.sort][1];
    const order = (p, q) => {
      const x = key(p), y = key(q);
      const less = typeof x === "string" ? x.localeCompare(y) : x - y;
      return (state.up ? less : -less) || p.rank - q.rank;
    };
    return data.clashes.filter(fits).sort(order);
  }

  function draw() {
    [...at("head").children].forEach((head, k) =>
      head.setAttribute("aria-sort", k === state.sort ? (state.up ? "ascending" : "descending") : "none"));
    const rows = visible();
    const body = at("rows");
    body.textContent = "";
    const size = new Map();
    rows.forEach((c) => size.set(c.group, (size.get(c.group) || 0) + 1));
    const seen = new Set();
    const leaders = [];
    for (const c of rows) {
      const together = grouped.checked && size.get(c.group) > 1;
      if (!together) { leaders.push([c, 0]); continue; }
      if (seen.has(c.group)) continue;
      seen.add(c.group);
      leaders.push([c, size.get(c.group)]);
      if (state.open.has(c.group)) rows.filter((one) => one.group === c.group && one !== c).forEach((one) => leaders.push([one, -1]));
    }
    for (const [c, count] of leaders.slice(0, state.shown)) body.append(line(c, count));
    at("more").hidden = leaders.length <= state.shown;
    const out = data.rows_left_out ? ", " + data.rows_left_out + " more in the other files" : "";
    at("count").textContent = rows.length + " of " + data.clashes.length + out;
  }

  function line(c, count) {
    const row = make("tr");
    row.dataset.id = c.id;
    row.tabIndex = 0;
    row.setAttribute("aria-selected", String(state.chosen === c));
    const kind = make("td");
    kind.append(make("span", c.kind, "kind " + c.kind));
    if (count > 0) {
      const open = state.open.has(c.group);
      const button = make("button", (open ? "− " : "+ ") + (count - 1));
      button.title = data.groups[c.group].title;
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        open ? state.open.delete(c.group) : state.open.add(c.group);
        draw();
      });
      kind.append(" ", button);
    }
    row.append(
      make("td", String(c.rank)), kind, path(short(c.a)), path(short(c.b)), make("td", c.measure, "number"),
      make("td", c.volume_text || "–", "number"), make("td", c.status + (c.worse ? ", worse" : "") + (c.assignee ? ", " + c.assignee : "")),
      make("td", c.id.slice(0, 7), "id"));
    row.addEventListener("click", () => choose(c));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(c); });
    return row;
  }

  // A path may be broken after each of its levels.
  function path(text) {
    const cell = make("td", undefined, "name");
    text.split("/").forEach((level, k, levels) => {
      cell.append(k + 1 < levels.length ? level + "/" : level);
      if (k + 1 < levels.length) cell.append(make("wbr"));
    });
    return cell;
  }

  function choose(c) {
    state.chosen = c;
    for (const row of at("rows").children) row.setAttribute("aria-selected", String(row.dataset.id === c.id));
    const names = at("names");
    names.textContent = "";
    names.append(make("span", name(c.a), "a"), " and ", make("span", name(c.b), "b"));
    at("text").textContent = c.text;
    const picture = at("picture");
    if (c.picture) { picture.src = "data:image/png;base64," + c.picture; picture.alt = c.text; } else picture.removeAttribute("src");
    const body = at("numbers").tBodies[0];
    body.textContent = "";
    const numbers = [
      ["kind", c.kind + ", " + c.measure], ["deepest point", c.penetration === null ? "" : (c.penetration * 1000).toPrecision(4) + " mm"],
      ["volume", c.volume_text], ["place, m", c.point.map((v) => v.toPrecision(6)).join(", ")],
      ["direction", c.normal.some(Boolean) ? c.normal.map((v) => v.toFixed(3)).join(", ") : ""],
      ["status", c.status + (c.assignee ? ", " + c.assignee : "")], ["note", c.note], ["global ids", c.guids.filter(Boolean).join(", ")],
      ["joints", c.configuration.join(", ")], ["id", c.id],
    ];
    for (const [label, value] of numbers) {
      if (!value) continue;
      const row = make("tr");
      row.append(make("td", label), make("td", value));
      body.append(row);
    }
    viewer.look(c);
  }

  // ---- lists below ----
  if (data.links.length) {
    at("links").hidden = false;
    for (const pair of data.links.filter((one) => one.verdict !== "never")) {
      const row = make("tr");
      row.append(make("td", pair.a), make("td", pair.b), make("td", pair.verdict + ", " + pair.share),
        make("td", pair.configuration.join(", ")));
      at("links").querySelector("tbody").append(row);
    }
  }
  if (data.contact_count) {
    at("contacts").hidden = false;
    at("contacts").querySelector("summary").textContent = data.contact_count + (data.contact_count === 1 ? " pair of parts only touches" : " pairs of parts only touch");
    for (const [one, other] of data.contacts) {
      const row = make("tr");
      row.append(make("td", one), make("td", other));
      at("contacts").querySelector("tbody").append(row);
    }
  }
  const notes = data.notes.slice();
  if (data.coarser > 0) notes.unshift("The 3D view shows " + data.coarser + " meshes with fewer triangles than they have; depths and gaps are of the full meshes.");
  if (data.coarser < 0) notes.unshift("The geometry is too large for this file: the table and the pictures are what is left.");
  if (notes.length) {
    at("notes").hidden = false;
    for (const note of notes) at("notes").querySelector("ul").append(make("li", note));
  }

  // ---- 3D view ----
  const viewer = makeViewer(at("view"), at("message"));
  at("reset").addEventListener("click", () => viewer.reset());
  at("all").addEventListener("click", () => viewer.whole());
  at("rest").addEventListener("click", () => {
    at("rest").textContent = viewer.toggleRest() ? "Hide the rest" : "Show the rest";
  });

  function makeViewer(canvas, message) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, preserveDrawingBuffer: true });
    const say = (text) => { message.textContent = text; message.hidden = !text; };
    if (!gl) {
      say("This browser shows no WebGL 2, so there is no 3D view; the pictures are below.");
      return { look() {}, reset() {}, whole() {}, toggleRest() { return true; } };
    }
    const program = build(
      "#version 300 es\nin vec3 p; uniform vec3 low, size; uniform mat4 pose, camera; out vec3 place;\n" +
      "void main() { vec4 w = pose * vec4(low + p * size, 1.0); place = w.xyz; gl_Position = camera * w; }",
      "#version 300 es\nprecision highp float; in vec3 place; uniform vec4 color; uniform vec3 eye; out vec4 shade;\n" +
      "void main() { vec3 n = normalize(cross(dFdx(place), dFdy(place))); vec3 v = normalize(eye - place); if (dot(n, v) < 0.0) n = -n;\n" +
      "float light = 0.5 + 0.28 * max(dot(n, normalize(vec3(0.35, -0.45, 0.82))), 0.0) + 0.3 * dot(n, v); shade = vec4(color.rgb * light, color.a); }");
    const marks = build(
      "#version 300 es\nin vec3 p; uniform mat4 camera; uniform float size; void main() { gl_Position = camera * vec4(p, 1.0); gl_PointSize = size; }",
      "#version 300 es\nprecision highp float; uniform vec4 color; uniform float round; out vec4 shade;\n" +
      "void main() { if (round > 0.5 && length(gl_PointCoord - 0.5) > 0.5) discard; shade = color; }");
    const meshes = data.meshes.map(() => null);
    const camera = { target: [0, 0, 0], distance: 1, azimuth: 0, height: 0.4, home: null };
    let clash = null, rest = true, asked = false, markCount = 0, lineCount = 0;
    const markBuffer = gl.createBuffer(), lineBuffer = gl.createBuffer();
    if (!data.meshes.length) say("No geometry in this file.");

    function build(vertex, fragment) {
      const made = gl.createProgram();
      for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
        const shader = gl.createShader(kind);
        gl.shaderSource(shader, text);
        gl.compileShader(shader);
        if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
        gl.attachShader(made, shader);
      }
      gl.bindAttribLocation(made, 0, "p");
      gl.linkProgram(made);
      const places = {};
      for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k++) {
        const one = gl.getActiveUniform(made, k).name;
        places[one] = gl.getUniformLocation(made, one);
      }
      return { made, places };
    }

    function bytes(text) {
      const raw = atob(text), out = new Uint8Array(raw.length);
      for (let k = 0; k < raw.length; k++) out[k] = raw.charCodeAt(k);
      return out.buffer;
    }

    function mesh(k) {
      if (!meshes[k]) {
        const from = data.meshes[k];
        const array = gl.createVertexArray();
        gl.bindVertexArray(array);
        gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
        gl.bufferData(gl.ARRAY_BUFFER, bytes(from.v), gl.STATIC_DRAW);
        gl.enableVertexAttribArray(0);
        gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 6, 0);
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
        const faces = bytes(from.f);
        gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
        gl.bindVertexArray(null);
        meshes[k] = { array, low: from.low, size: from.size, count: faces.byteLength / (from.wide ? 4 : 2), type: from.wide ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT };
      }
      return meshes[k];
    }

    // Rotation by rows and a place, as a matrix by columns.
    const matrix = (m) => [m[0], m[3], m[6], 0, m[1], m[4], m[7], 0, m[2], m[5], m[8], 0, m[9], m[10], m[11], 1];
    const poses = data.parts.map((part) => matrix(part.slice(1)));

    function eye() {
      const c = Math.cos(camera.height);
      const way = [Math.cos(camera.azimuth) * c, Math.sin(camera.azimuth) * c, Math.sin(camera.height)];
      return camera.target.map((v, k) => v + camera.distance * way[k]);
    }

    function axes() {
      const c = Math.cos(camera.height), s = Math.sin(camera.height), x = Math.cos(camera.azimuth), y = Math.sin(camera.azimuth);
      return { right: [-y, x, 0], up: [-s * x, -s * y, c], back: [c * x, c * y, s] };
    }

    function cameraMatrix(from) {
      const { right, up, back } = axes();
      const dot = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
      const aspect = canvas.width / canvas.height, half = Math.tan((data.field * Math.PI) / 360) * Math.max(1, 1 / aspect);
      const near = camera.distance * 0.02, far = camera.distance * 4 + 2 * sceneReach;
      const f = 1 / half, a = (far + near) / (near - far), b = (2 * far * near) / (near - far);
      const v = [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0, -dot(right, from), -dot(up, from), -dot(back, from), 1];
      const p = [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, a, -1, 0, 0, b, 0];
      const out = new Float32Array(16);
      for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) for (let k = 0; k < 4; k++) out[4 * j + i] += p[4 * k + i] * v[4 * j + k];
      return out;
    }

    const whole = data.whole;
    const sceneReach = whole ? Math.hypot(whole[0] - whole[3], whole[1] - whole[4], whole[2] - whole[5]) : 1;

    function set(c) {
      const way = [c[0] - c[3], c[1] - c[4], c[2] - c[5]];
      camera.target = [c[3], c[4], c[5]];
      camera.distance = Math.hypot(...way);
      camera.azimuth = Math.atan2(way[1], way[0]);
      camera.height = Math.asin(way[2] / camera.distance);
      camera.home = c;
      ask();
    }

    function ask() {
      if (!asked) { asked = true; requestAnimationFrame(paint); }
    }

    function paint() {
      asked = false;
      const scale = window.devicePixelRatio || 1;
      const width = Math.max(1, Math.round(canvas.clientWidth * scale)), height = Math.max(1, Math.round(canvas.clientHeight * scale));
      if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
      gl.viewport(0, 0, width, height);
      gl.clearColor(0.972, 0.976, 0.984, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      if (!data.meshes.length) return;
      const from = eye(), matrixNow = cameraMatrix(from);
      gl.useProgram(program.made);
      gl.uniformMatrix4fv(program.places.camera, false, matrixNow);
      gl.uniform3fv(program.places.eye, from);
      gl.enable(gl.DEPTH_TEST);
      gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      const own = clash ? [clash.a, clash.b] : [];
      const colors = [[0.16, 0.42, 0.82], [0.96, 0.58, 0.12]];
      // The two parts; then what of them is hidden, shining through.
      gl.disable(gl.BLEND);
      gl.depthMask(true);
      gl.depthFunc(gl.LESS);
      own.forEach((row, k) => part(row, [...colors[k], 1]));
      gl.enable(gl.BLEND);
      gl.depthMask(false);
      gl.depthFunc(gl.GREATER);
      own.forEach((row, k) => part(row, [...colors[k], clash.kind === "containment" ? 0.45 : 0.18]));
      // The rest as glass: only its nearest surface.
      if (rest || !clash) {
        const others = data.parts.map((_, row) => row).filter((row) => !own.includes(row));
        gl.depthMask(true);
        gl.depthFunc(gl.LESS);
        gl.colorMask(false, false, false, false);
        others.forEach((row) => part(row, [0, 0, 0, 1]));
        gl.colorMask(true, true, true, true);
        gl.depthMask(false);
        gl.depthFunc(gl.LEQUAL);
        others.forEach((row) => part(row, clash ? [0.62, 0.66, 0.7, 0.26] : involved.has(row) ? [0.96, 0.58, 0.12, 1] : [0.62, 0.66, 0.7, 0.6]));
      }
      gl.depthMask(true);
      if (clash) drawMarks(matrixNow, scale);
    }

    const involved = new Set(data.clashes.flatMap((c) => [c.a, c.b]));

    function part(row, color) {
      const one = mesh(data.parts[row][0]);
      gl.bindVertexArray(one.array);
      gl.uniform3fv(program.places.low, one.low);
      gl.uniform3fv(program.places.size, one.size);
      gl.uniformMatrix4fv(program.places.pose, false, clash && clash.poses ? matrix(clash.poses[row]) : poses[row]);
      gl.uniform4fv(program.places.color, color);
      gl.drawElements(gl.TRIANGLES, one.count, one.type, 0);
    }

    function drawMarks(matrixNow, scale) {
      gl.useProgram(marks.made);
      gl.bindVertexArray(null);
      gl.disable(gl.DEPTH_TEST);
      gl.uniformMatrix4fv(marks.places.camera, false, matrixNow);
      const points = (buffer, mode, count, size, color, round, first) => {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(0);
        gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 12, 0);
        gl.uniform1f(marks.places.size, size * scale);
        gl.uniform1f(marks.places.round, round);
        gl.uniform4fv(marks.places.color, color);
        gl.drawArrays(mode, first, count);
      };
      const red = [0.85, 0.04, 0.16, 1], white = [1, 1, 1, 1];
      points(lineBuffer, gl.LINES, lineCount, 1, red, 0, 0);
      points(markBuffer, gl.POINTS, markCount, 7, white, 1, 0);
      points(markBuffer, gl.POINTS, markCount, 4.5, red, 1, 0);
      points(markBuffer, gl.POINTS, Math.min(1, markCount), 13, white, 1, 0);
      points(markBuffer, gl.POINTS, Math.min(1, markCount), 9.5, red, 1, 0);
      gl.enable(gl.DEPTH_TEST);
    }

    function look(c) {
      clash = c;
      gl.bindBuffer(gl.ARRAY_BUFFER, markBuffer);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(c.marks), gl.STATIC_DRAW);
      markCount = c.marks.length / 3;
      gl.bindBuffer(gl.ARRAY_BUFFER, lineBuffer);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(c.curve), gl.STATIC_DRAW);
      lineCount = c.curve.length / 3;
      set(c.camera);
    }

    function turn(dx, dy) {
      camera.azimuth -= dx;
      camera.height = Math.max(-1.55, Math.min(1.55, camera.height + dy));
      ask();
    }

    function zoom(factor) {
      camera.distance *= factor;
      ask();
    }

    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = [event.clientX, event.clientY, event.button === 2 || event.shiftKey];
      canvas.setPointerCapture(event.pointerId);
      canvas.focus();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      const dx = event.clientX - held[0], dy = event.clientY - held[1];
      if (held[2]) {
        const { right, up } = axes();
        const step = (camera.distance * 2 * Math.tan((data.field * Math.PI) / 360)) / canvas.clientHeight;
        camera.target = camera.target.map((v, k) => v - step * (dx * right[k] - dy * up[k]));
        ask();
      } else turn(dx * 0.008, dy * 0.008);
      held[0] = event.clientX;
      held[1] = event.clientY;
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { held = null; });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => reset());
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(Math.max(-80, Math.min(80, event.deltaY)) * 0.002)); }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
      if (moves[event.key]) { event.preventDefault(); turn(...moves[event.key]); }
      if (event.key === "+" || event.key === "=") zoom(0.85);
      if (event.key === "-") zoom(1 / 0.85);
    });
    canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); say("The 3D view was lost; reload the page."); });
    new ResizeObserver(ask).observe(canvas);

    function reset() { if (camera.home) set(camera.home); }
    return {
      look,
      reset,
      whole() { clash = null; if (whole) set(whole); },
      toggleRest() { rest = !rest; ask(); return rest; },
    };
  }

  draw();
  if (data.clashes.length) choose(data.clashes[0]);
  else viewer.whole();
  document.documentElement.dataset.ready = "yes";
})();
