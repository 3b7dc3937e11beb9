// One flight of one particle a vertex: its start, the earliest crossing with any element, the response. 3.2, 3.3.
//
// The same steps as motion.py, elements.py, roots.py and response.py, in doubles (there: double-doubles). A round reads what
// the round before has written by transform feedback; the first round starts from the hash. Names in capitals come from Python.

layout(std430, binding = 0) readonly buffer Rows { uvec4 rows[]; };          // particle, generation (low, high)
layout(std430, binding = 1) readonly buffer Clocks { double clocks[]; };     // birth, lifetime a row
layout(std430, binding = 2) readonly buffer Starts { double starts[]; };     // positions, velocities, accelerations
layout(std430, binding = 3) readonly buffer Settings { double settings[]; }; // t0, t1, spreads of position and velocity
layout(std430, binding = 4) readonly buffer Ints { int ints[]; };            // elements, ELEMENT_INTS each
layout(std430, binding = 5) readonly buffer Reals { double reals[]; };       // elements, ELEMENT_REALS each
layout(std430, binding = 6) readonly buffer Boxes { double boxes[]; };       // elements, 6 each
layout(std430, binding = 7) readonly buffer Sides { double sides[]; };       // sides of polygons, 4 each
layout(std430, binding = 8) readonly buffer Clips { double clips[]; };       // half-spaces, 4 each
layout(std430, binding = 9) readonly buffer Materials { double materials[]; }; // restitution, friction a collider
layout(std430, binding = 10) readonly buffer Charts { double charts[]; };    // elements, CHART_WIDTH each
// place, velocity after, arrival at the place before, normal, velocity of arrival, clock; marks.
struct State { double d[19]; int i[4]; };
layout(std430, binding = 11) readonly buffer States { State states[]; };
layout(std430, binding = 12) buffer Alive { uint alive[]; };

uniform int first_round;
uniform int element_count;
uniform int bounces;
uniform ivec3 starts_at;   // where positions, velocities and accelerations begin
uniform ivec3 starts_step; // from row to row: 3, or 0 where one serves all
uniform int spread_given;
uniform uvec2 seed;

// What the next round and the points read, in the order of State.
out dvec3 place;
out dvec3 velocity;
out dvec3 came;
out dvec3 normal;
out dvec3 arrival;
out dvec4 clock; // age, time, u, v
out ivec4 marks; // element, bounce, 1 if it flies on, 1 if this is an impact in the window

const double ROUNDOFF = 1.1102230246251565e-16LF;
const double PI = 3.141592653589793LF;

double infinity() { return packDouble2x32(uvec2(0u, 0x7FF00000u)); }
int exponent(double x) { return int((unpackDouble2x32(x).y >> 20) & 0x7FFu) - 1023; }
double power_of_two(int e) { return packDouble2x32(uvec2(0u, uint(clamp(e, -1022, 1023) + 1023) << 20)); }

// Philox4x32-10, philox.py.
uvec4 philox(uvec4 c, uvec2 k) {
    for (int turn = 0; turn < 10; ++turn) {
        uint high0, low0, high1, low1;
        umulExtended(0xD2511F53u, c.x, high0, low0);
        umulExtended(0xCD9E8D57u, c.z, high1, low1);
        c = uvec4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
        k += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}
double spread(uint word) { return (double(word) + 0.5LF) * 4.656612873077393e-10LF - 1.0LF; }

dvec3 start_of(int row, int which) {
    int k = starts_at[which] + row * starts_step[which];
    return dvec3(starts[k], starts[k + 1], starts[k + 2]);
}

dvec3 real3(int e, int at) {
    int k = e * ELEMENT_REALS + at;
    return dvec3(reals[k], reals[k + 1], reals[k + 2]);
}

dvec3 times_quadric(int e, dvec3 x) {
    int k = e * ELEMENT_REALS + A;
    return dvec3(
        reals[k] * x.x + reals[k + 1] * x.y + reals[k + 2] * x.z,
        reals[k + 1] * x.x + reals[k + 3] * x.y + reals[k + 4] * x.z,
        reals[k + 2] * x.x + reals[k + 4] * x.y + reals[k + 5] * x.z);
}

dvec3 gradient(int e, int kind, dvec3 p) {
    if (kind != QUADRIC) return real3(e, NORMAL);
    return times_quadric(e, p - real3(e, ORIGIN)) + real3(e, G);
}

// Polynomials c0 + c1 t + ... + c4 t^4, roots.py.
double value(double c[5], double t) { return c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * c[4]))); }
double slope(double c[5], double t) { return c[1] + t * (2.0LF * c[2] + t * (3.0LF * c[3] + t * 4.0LF * c[4])); }
double magnitude(double c[5], double t) {
    return abs(c[0]) + t * (abs(c[1]) + t * (abs(c[2]) + t * (abs(c[3]) + t * abs(c[4]))));
}

int sign_at(double c[5], double t) {
    double h = value(c, t);
    if (abs(h) <= 8.0LF * ROUNDOFF * magnitude(c, t)) return 0;
    return h > 0.0LF ? 1 : -1;
}

int sign_after_start(double c[5]) {
    for (int k = 0; k < 5; ++k)
        if (c[k] != 0.0LF) return c[k] > 0.0LF ? 1 : -1;
    return 0;
}

double bracketed_root(double c[5], double low, double high, int sign_low) {
    double t = 0.5LF * (low + high), before = high - low;
    for (int k = 0; k < 100; ++k) {
        double h = value(c, t);
        if (h == 0.0LF) return t;
        if ((h > 0.0LF) == (sign_low > 0)) low = t; else high = t;
        double change = h / slope(c, t), to = t - change;
        if (!(low < to && to < high) || abs(change) > 0.5LF * before) {
            to = 0.5LF * (low + high);
            change = t - to;
        }
        before = abs(change);
        if (before <= ROUNDOFF * abs(t) || high - low <= ROUNDOFF * abs(t)) return to;
        t = to;
    }
    return t;
}

int linear_crossings(double c0, double c1, double to, inout double roots[4]) {
    if (c0 == 0.0LF || c1 == 0.0LF || (c0 > 0.0LF) == (c1 > 0.0LF)) return 0;
    double t = -c0 / c1;
    if (!(0.0LF < t && t < to)) return 0;
    roots[0] = t;
    return 1;
}

// Eq. (3.6), (3.9).
int quadratic_crossings(double c0, double c1, double c2, double to, inout double roots[4]) {
    if (c2 == 0.0LF) return linear_crossings(c0, c1, to, roots);
    if (c0 == 0.0LF) return linear_crossings(c1, c2, to, roots);
    double square = c1 * c1, product = -4.0LF * c2 * c0, under = square + product;
    if (under <= 16.0LF * ROUNDOFF * (square + abs(product))) return 0;
    double q = -0.5LF * (c1 + (c1 < 0.0LF ? -sqrt(under) : sqrt(under)));
    double a = q / c2, b = c0 / q;
    if (a > b) { double swap = a; a = b; b = swap; }
    // The formula loses digits where the roots are close.
    double middle = -0.5LF * c1 / c2;
    for (int k = 0; k < 2; ++k) {
        double down = c1 + 2.0LF * c2 * a, up = c1 + 2.0LF * c2 * b;
        if (down != 0.0LF) a = min(a - (c0 + a * (c1 + a * c2)) / down, middle);
        if (up != 0.0LF) b = max(b - (c0 + b * (c1 + b * c2)) / up, middle);
    }
    int count = 0;
    if (0.0LF < a && a < to) roots[count++] = a;
    if (0.0LF < b && b < to) roots[count++] = b;
    return count;
}

// Crossings in (0, to) of a polynomial that is monotone between the first `many` edges.
int along_pieces(double c[5], double to, double edges[4], int many, inout double roots[4]) {
    double at = 0.0LF;
    int sign = sign_after_start(c), count = 0;
    for (int k = 0; k <= many; ++k) {
        double edge = k < many ? edges[k] : to;
        if (k < many && !(at < edge && edge < to)) continue;
        int sign_edge = sign_at(c, edge);
        if (sign_edge == 0) continue;
        if (sign_edge != sign && sign != 0 && count < 4) {
            double t = bracketed_root(c, at, edge, sign);
            if (t < to) roots[count++] = t;
        }
        at = edge;
        sign = sign_edge;
    }
    return count;
}

int cubic_crossings(double c[5], double to, inout double roots[4]) {
    if (c[3] == 0.0LF) return quadratic_crossings(c[0], c[1], c[2], to, roots);
    double edges[4];
    int many = quadratic_crossings(c[1], 2.0LF * c[2], 3.0LF * c[3], to, edges);
    return along_pieces(c, to, edges, many, roots);
}

int crossings(double c[5], double to, out double roots[4]) {
    for (int k = 0; k < 4; ++k) roots[k] = infinity();
    int degree = 0;
    bool rising = true, falling = true;
    for (int k = 0; k < 5; ++k) {
        if (c[k] != 0.0LF) degree = k;
        rising = rising && c[k] >= 0.0LF;
        falling = falling && c[k] <= 0.0LF;
    }
    // Descartes: no change of signs among the coefficients, no positive root.
    if (rising || falling || !(to > 0.0LF)) return 0;
    if (degree <= 2) return quadratic_crossings(c[0], c[1], c[2], to, roots);
    // Fujiwara's bound, rounded up to a power of two.
    int most = -1022;
    for (int k = 0; k < degree; ++k)
        if (c[k] != 0.0LF) {
            int ratio = exponent(c[k]) + 1 - exponent(c[degree]);
            most = max(most, int(ceil(float(ratio) / float(degree - k))));
        }
    double end = min(to, power_of_two(min(most + 1, 249)));
    // Times in units of a power of two near the end, so that no power of them overflows.
    double unit = power_of_two(exponent(end) + 1), factor = unit;
    for (int k = 1; k < 5; ++k) { c[k] *= factor; factor *= unit; }
    end /= unit;
    int count = 0;
    if (degree == 3) count = cubic_crossings(c, end, roots);
    else {
        double slopes[5] = double[5](c[1], 2.0LF * c[2], 3.0LF * c[3], 4.0LF * c[4], 0.0LF);
        double edges[4];
        int many = cubic_crossings(slopes, end, edges);
        count = along_pieces(c, end, edges, many, roots);
    }
    for (int k = 0; k < count; ++k) roots[k] *= unit;
    return count;
}

bool in_loops(int from, int to, double s, double t, double slack) {
    bool inside = false;
    for (int k = from; k < to; ++k) {
        double s0 = sides[4 * k], t0 = sides[4 * k + 1], ds = sides[4 * k + 2] - s0, dt = sides[4 * k + 3] - t0;
        double es = s - s0, et = t - t0;
        if ((t0 > t) != (sides[4 * k + 3] > t) && (ds * et - es * dt > 0.0LF) == (dt > 0.0LF)) inside = !inside;
        double length2 = ds * ds + dt * dt, along = 0.0LF;
        if (length2 > 0.0LF) along = clamp((es * ds + et * dt) / length2, 0.0LF, 1.0LF);
        es -= along * ds;
        et -= along * dt;
        if (es * es + et * et <= slack * slack) return true;
    }
    return inside;
}

// c(p) >= 0.
bool in_bounds(int e, int kind, dvec3 p) {
    int k = e * ELEMENT_REALS;
    if (RECTANGLE <= kind && kind <= POLYGON) {
        dvec3 d = p - real3(e, ORIGIN);
        double s = dot(real3(e, DU), d), t = dot(real3(e, DV), d), slack = reals[k + FLAT_SLACK];
        if (kind == RECTANGLE) {
            if (s < -slack || s > 1.0LF + slack || t < -slack || t > 1.0LF + slack) return false;
        } else if (kind == DISC) {
            if (s * s + t * t > (1.0LF + slack) * (1.0LF + slack)) return false;
        } else if (!in_loops(ints[e * ELEMENT_INTS + LOOP], ints[e * ELEMENT_INTS + LOOP_END], s, t, slack)) return false;
    }
    for (int j = ints[e * ELEMENT_INTS + CLIP]; j < ints[e * ELEMENT_INTS + CLIP_END]; ++j) {
        dvec3 n = dvec3(clips[4 * j], clips[4 * j + 1], clips[4 * j + 2]);
        if (dot(n, p) > clips[4 * j + 3] + reals[k + SLACK]) return false;
    }
    return true;
}

dvec3 path_at(dvec3 x, dvec3 v, dvec3 a, double t) { return x + t * (v + 0.5LF * t * a); }

// Singular points of quadrics, elements.py: apexes of cones, the line of two planes.
bool at_singular_point(int e, dvec3 x, dvec3 v, dvec3 a, dvec3 p, double t, double part) {
    if (ints[e * ELEMENT_INTS + SINGULAR] == 0) return false;
    dvec3 size = abs(x) + abs(real3(e, ORIGIN)) + t * (abs(v) + t * abs(a)), n = abs(gradient(e, QUADRIC, p));
    int k = e * ELEMENT_REALS + A;
    dvec3 terms = abs(real3(e, G)) + dvec3(
        abs(reals[k]) * size.x + abs(reals[k + 1]) * size.y + abs(reals[k + 2]) * size.z,
        abs(reals[k + 1]) * size.x + abs(reals[k + 3]) * size.y + abs(reals[k + 4]) * size.z,
        abs(reals[k + 2]) * size.x + abs(reals[k + 4]) * size.y + abs(reals[k + 5]) * size.z);
    return all(lessThanEqual(n, part * terms));
}

dvec3 singular_normal(int e, dvec3 w) {
    int kind = ints[e * ELEMENT_INTS + SINGULAR];
    dvec3 line = real3(e, LINE), n = -w;
    if (kind == TWO_PLANES) n += dot(line, w) * line;
    else if (kind == DOUBLE_PLANE) n = -dot(line, w) * line;
    double size = sqrt(dot(n, n));
    return size > 0.0LF ? n / size : dvec3(0.0LF);
}

double singular_crossing(int e, dvec3 x, dvec3 v, dvec3 a, double c[5], double begin, double reach) {
    int kind = ints[e * ELEMENT_INTS + SINGULAR], many = 0;
    double edges[4];
    if (c[3] == 0.0LF && c[4] == 0.0LF) {
        if (c[2] == 0.0LF) return infinity();
        edges[0] = -0.5LF * c[1] / c[2];
        many = 1;
    } else {
        double slopes[5] = double[5](c[1], 2.0LF * c[2], 3.0LF * c[3], 4.0LF * c[4], 0.0LF);
        many = crossings(slopes, reach, edges);
    }
    for (int k = 0; k < many; ++k) {
        double t = edges[k], bend = 2.0LF * c[2] + t * (6.0LF * c[3] + t * 12.0LF * c[4]);
        if (!(begin < t && t < reach) || bend == 0.0LF || abs(value(c, t)) > ROOT_NEAR * magnitude(c, t)) continue;
        int side = sign_at(c, t);
        if (side != 0 && (side > 0) != (bend > 0.0LF)) continue;
        dvec3 w = v + t * a, p = path_at(x, v, a, t);
        double inside = dot(w, times_quadric(e, w));
        if (inside == 0.0LF || (kind == -1 && inside > 0.0LF) || (kind == 1 && inside < 0.0LF)) continue;
        if (at_singular_point(e, x, v, a, p, t, SINGULAR_PASS) && in_bounds(e, QUADRIC, p)) return t;
    }
    return infinity();
}

// Earliest time in [0, reach) at which the path crosses an element within its bounds; infinite if it does not.
double element_crossing(int e, int kind, dvec3 x, dvec3 v, dvec3 a, dvec3 before, bool is_last, double reach) {
    dvec3 o = real3(e, ORIGIN), d = x - o, far = abs(x) + abs(o);
    double c[5], roundoff;
    if (kind == QUADRIC) {
        dvec3 g = real3(e, G), m = times_quadric(e, d) + g, av = times_quadric(e, v), aa = times_quadric(e, a);
        double j = reals[e * ELEMENT_REALS + J];
        c[0] = dot(d, m) + dot(d, g) + j;
        c[1] = 2.0LF * dot(m, v);
        c[2] = dot(av, v) + dot(m, a);
        c[3] = dot(av, a);
        c[4] = 0.25LF * dot(aa, a);
        int k = e * ELEMENT_REALS + A;
        dvec3 s = abs(d);
        dvec3 magnitudes = dvec3(
            abs(reals[k]) * s.x + abs(reals[k + 1]) * s.y + abs(reals[k + 2]) * s.z,
            abs(reals[k + 1]) * s.x + abs(reals[k + 3]) * s.y + abs(reals[k + 4]) * s.z,
            abs(reals[k + 2]) * s.x + abs(reals[k + 4]) * s.y + abs(reals[k + 5]) * s.z);
        double most = max(far.x, max(far.y, far.z));
        roundoff = abs(j) + dot(s, magnitudes + 2.0LF * abs(g)) + 2.0LF * most * (abs(m.x) + abs(m.y) + abs(m.z));
    } else {
        dvec3 n = real3(e, NORMAL);
        c[0] = dot(n, d);
        c[1] = dot(n, v);
        c[2] = 0.5LF * dot(n, a);
        c[3] = 0.0LF;
        c[4] = 0.0LF;
        roundoff = dot(abs(n), far);
    }
    double begin = 0.0LF;
    if (is_last || abs(c[0]) <= START_ROUNDOFF * roundoff) {
        bool singular = at_singular_point(e, x, v, a, x, 0.0LF, SINGULAR_NEAR);
        if (!is_last) {
            dvec3 n = singular ? singular_normal(e, v) : gradient(e, kind, x);
            double came_in = dot(n, before), goes_out = dot(n, v);
            bool through = (came_in > 0.0LF && goes_out > 0.0LF) || (came_in < 0.0LF && goes_out < 0.0LF);
            if (through && in_bounds(e, kind, x)) return 0.0LF;
        }
        if (singular) {
            dvec3 speed = abs(v);
            double fast = speed.x + speed.y + speed.z;
            // In doubles the two roots of an apex are known to their square root only.
            begin = fast > 0.0LF ? SINGULAR_PASS * (far.x + far.y + far.z) / fast : infinity();
        } else {
            for (int k = 0; k < 4; ++k) c[k] = c[k + 1];
            c[4] = 0.0LF;
        }
    }
    double roots[4], best = infinity();
    int count = crossings(c, reach, roots);
    for (int k = 0; k < count; ++k)
        if (roots[k] > begin && in_bounds(e, kind, path_at(x, v, a, roots[k]))) { best = roots[k]; break; }
    if (ints[e * ELEMENT_INTS + SINGULAR] != 0) best = min(best, singular_crossing(e, x, v, a, c, begin, reach));
    return best;
}

// Least and greatest x + tau (v + tau a / 2) over [0, t], t infinite or not.
dvec2 path_range(double x, double v, double a, double t) {
    double low = x, high = x, slack = abs(x);
    if (t == infinity()) {
        if (a > 0.0LF || (a == 0.0LF && v > 0.0LF)) high = t;
        if (a < 0.0LF || (a == 0.0LF && v < 0.0LF)) low = -t;
    } else {
        double end = x + t * (v + 0.5LF * t * a);
        low = min(x, end);
        high = max(x, end);
        slack += t * (abs(v) + t * abs(a));
    }
    if (v * a < 0.0LF && -v / a < t) {
        double turn = x - 0.5LF * v * v / a;
        low = min(low, turn);
        high = max(high, turn);
    }
    slack *= 8.0LF * ROUNDOFF;
    return dvec2(low - slack, high + slack);
}

// Arc tangent after fdlibm (s_atan.c): GLSL has none for doubles.
double arc_tangent(double x) {
    double y = abs(x), base = 0.0LF;
    if (y >= 2.4375LF) { base = 1.5707963267948966LF; y = -1.0LF / y; }
    else if (y >= 1.1875LF) { base = 0.9827937232473291LF; y = (y - 1.5LF) / (1.0LF + 1.5LF * y); }
    else if (y >= 0.6875LF) { base = 0.7853981633974483LF; y = (y - 1.0LF) / (y + 1.0LF); }
    else if (y >= 0.4375LF) { base = 0.4636476090008061LF; y = (2.0LF * y - 1.0LF) / (2.0LF + y); }
    double z = y * y, w = z * z;
    double odd = z * (3.33333333333329318027e-01LF + w * (1.42857142725034663711e-01LF + w * (9.09088713343650656196e-02LF
        + w * (6.66107313738753120669e-02LF + w * (4.97687799461593236017e-02LF + w * 1.62858201153657823623e-02LF)))));
    double even = w * (-1.99999999998764832476e-01LF + w * (-1.11111104054623557880e-01LF
        + w * (-7.69187620504482999495e-02LF + w * (-5.83357013379057348645e-02LF + w * -3.65315727442169155270e-02LF))));
    double angle = base + (y - y * (odd + even));
    return x < 0.0LF ? -angle : angle;
}

// Angle of (a, b) over 2 pi, in [0, 1).
double turn_of(double b, double a) {
    if (a == 0.0LF && b == 0.0LF) return 0.0LF;
    double angle = abs(b) <= abs(a) ? arc_tangent(b / a) : (b > 0.0LF ? 0.5LF : -0.5LF) * PI - arc_tangent(a / b);
    if (abs(b) <= abs(a) && a < 0.0LF) angle += b < 0.0LF ? -PI : PI;
    double turn = angle / (2.0LF * PI);
    return turn < 0.0LF ? turn + 1.0LF : turn;
}

double chart_at(int k, dvec3 d) { return dot(dvec3(charts[k], charts[k + 1], charts[k + 2]), d) + charts[k + 3]; }

// Coordinates on the collider, element_charts.py; -1 where there are none.
dvec2 coordinates(int e, dvec3 p) {
    int k = e * CHART_WIDTH;
    dvec3 d = p - dvec3(charts[k + CHART_ORIGIN], charts[k + CHART_ORIGIN + 1], charts[k + CHART_ORIGIN + 2]);
    double a = chart_at(k + CHART_U, d), b = chart_at(k + CHART_V, d), c = chart_at(k + CHART_W, d);
    int kind = int(charts[k + CHART_KIND]);
    dvec2 uv = kind == AROUND ? dvec2(turn_of(b, a), c) : dvec2(a, b);
    if (charts[k + CHART_CLOSED] != 0.0LF) uv = clamp(uv, 0.0LF, 1.0LF);
    else if (!(uv.x >= 0.0LF && uv.x <= 1.0LF && uv.y >= 0.0LF && uv.y <= 1.0LF)) return dvec2(-1.0LF);
    if (kind == SHEETS) uv.x = c > 0.0LF ? 0.5LF + 0.5LF * uv.x : min(0.5LF * uv.x, 0.5LF - TILE_MARGIN);
    double side = charts[k + CHART_TILE + 2];
    if (side < 1.0LF) uv = min(uv, dvec2(1.0LF - TILE_MARGIN));
    return (uv + dvec2(charts[k + CHART_TILE], charts[k + CHART_TILE + 1])) * side;
}

void main() {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    place = velocity = came = normal = arrival = dvec3(0.0LF);
    clock = dvec4(0.0LF);
    marks = ivec4(-1, 0, 0, 0);
    int r = gl_VertexID;
    uint particle = rows[r].x;
    dvec3 x, v, before, a = start_of(r, 2);
    double birth = clocks[2 * r], life = clocks[2 * r + 1], age = 0.0LF;
    int last = -1, bounce = 0;
    if (first_round != 0) {
        x = start_of(r, 0);
        v = start_of(r, 1);
        before = dvec3(0.0LF);
        if (spread_given != 0) {
            uvec4 w = philox(uvec4(particle, rows[r].yz, 0u), seed), y = philox(uvec4(particle, rows[r].yz, 1u), seed);
            x += dvec3(settings[2], settings[3], settings[4]) * dvec3(spread(w.x), spread(w.y), spread(w.z));
            v += dvec3(settings[5], settings[6], settings[7]) * dvec3(spread(w.w), spread(y.x), spread(y.y));
        }
    } else {
        if (states[r].i[2] == 0) return;
        x = dvec3(states[r].d[0], states[r].d[1], states[r].d[2]);
        v = dvec3(states[r].d[3], states[r].d[4], states[r].d[5]);
        before = dvec3(states[r].d[6], states[r].d[7], states[r].d[8]);
        age = states[r].d[15];
        last = states[r].i[0];
        bounce = states[r].i[1] + 1;
    }
    // The earliest crossing; at one time the element of the lowest row.
    double best = life - age;
    int found = -1;
    dvec2 bx = path_range(x.x, v.x, a.x, best), by = path_range(x.y, v.y, a.y, best), bz = path_range(x.z, v.z, a.z, best);
    for (int e = 0; e < element_count; ++e) {
        int k = 6 * e;
        if (bx.x > boxes[k + 3] || bx.y < boxes[k] || by.x > boxes[k + 4] || by.y < boxes[k + 1] || bz.x > boxes[k + 5]
            || bz.y < boxes[k + 2]) continue;
        double t = element_crossing(e, ints[e * ELEMENT_INTS + KIND], x, v, a, before, e == last, best);
        if (t < best) {
            best = t;
            found = e;
            bx = path_range(x.x, v.x, a.x, best);
            by = path_range(x.y, v.y, a.y, best);
            bz = path_range(x.z, v.z, a.z, best);
        }
    }
    if (found < 0) return;
    age += best;
    double at = birth + age;
    if (!(age < life && at < settings[1])) return;
    // The response, response.py.
    dvec3 p = path_at(x, v, a, best), w = v + best * a, n = gradient(found, ints[found * ELEMENT_INTS + KIND], p);
    if (at_singular_point(found, x, v, a, p, best, SINGULAR_NEAR)) n = singular_normal(found, w);
    double size = sqrt(dot(n, n));
    if (size > 0.0LF) n /= size;
    if (dot(n, w) > 0.0LF) n = -n;
    int collider = ints[found * ELEMENT_INTS + COLLIDER];
    double restitution = materials[2 * collider], friction = materials[2 * collider + 1];
    double approach = dot(n, w), away = -restitution * approach, keep = 1.0LF;
    dvec3 along = w - approach * n;
    double speed = sqrt(dot(along, along));
    if (friction > 0.0LF && speed > 0.0LF) keep = max(0.0LF, 1.0LF + friction * (1.0LF + restitution) * approach / speed);
    bool on = bounce < bounces && away >= RESTING_SPEED;
    place = p;
    velocity = keep * along + away * n;
    // At a corner, where it hits again at once, the particle has arrived with the velocity before.
    came = best > 0.0LF ? w : before;
    normal = n;
    arrival = w;
    clock = dvec4(age, at, coordinates(found, p));
    marks = ivec4(found, bounce, on ? 1 : 0, at >= settings[0] ? 1 : 0);
    // However often this runs, the same is written.
    if (on) alive[0] = 1u;
}
