// Plays scenes in a page, on plain WebGL 2. Each element of the class `pkm-player` holds one scene
// in a script element. `#t=1.5&colours=force&show=forces,path` behind the page's address chooses.
'use strict';
(() => {
  const FORCE = [0, .5, .3];
  const PATH = [.25, .3, .38], SPACE = [.2, .55, .75];
  const SPEEDS = [.1, .25, .5, 1, 2, 5, 10], USE_STEPS = 200, NO_USE = 255;

  // -- what a scene is stored as --------------------------------------------------------------
  const inflate = async text => {
    const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Response(stream).arrayBuffer();
  };
  const array = (buffer, what) => {
    const size = what.shape.reduce((a, b) => a * b, 1);
    if (what.kind !== 'steps') {
      const type = {f8: Float64Array, u4: Uint32Array, u1: Uint8Array}[what.kind];
      return new type(buffer.slice(what.at, what.at + size * type.BYTES_PER_ELEMENT));
    }
    const rows = what.shape[0], columns = rows ? size / rows : 0, found = new Float32Array(size);
    const bytes = new Uint8Array(buffer, what.at, 2 * size);
    for (let c = 0, k = 0; c < columns; c++)
      for (let r = 0, sum = 0; r < rows; r++, k++) {
        sum = (sum + bytes[k] + 256 * bytes[size + k]) & 65535;
        found[r * columns + c] = what.low + what.step * sum;
      }
    return found;
  };

  // -- vectors and matrices (column by column) ------------------------------------------------
  const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0]];
  const length = a => Math.hypot(a[0], a[1], a[2]);
  const unit = a => { const n = length(a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
  const multiply = (a, b) => {
    const m = new Float32Array(16);
    for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++)
      for (let k = 0; k < 4; k++) m[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    return m;
  };
  const pose = (p, [x, y, z, w]) => new Float32Array([
    1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
    2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
    2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0, ...p, 1]);
  const alongZ = (p, axis, radius, size) => {
    const z = unit(axis), x = unit(cross(Math.abs(z[2]) < .9 ? [0, 0, 1] : [1, 0, 0], z));
    const y = cross(z, x), s = (v, k) => [v[0] * k, v[1] * k, v[2] * k, 0];
    return new Float32Array([...s(x, radius), ...s(y, radius), ...s(z, size), ...p, 1]);
  };
  const IDENTITY = pose([0, 0, 0], [0, 0, 0, 1]);

  // -- triangles with normals, smooth where faces meet at less than 40 degrees -----------------
  const shaded = (vertices, triangles) => {
    const count = triangles.length / 3, point = k => vertices.subarray(3 * k, 3 * k + 3);
    const normals = [], around = new Map();
    const key = k => point(k).join();
    const keys = Array.from({length: vertices.length / 3}, (_, k) => key(k));
    for (let f = 0; f < count; f++) {
      const [a, b, c] = [0, 1, 2].map(k => point(triangles[3 * f + k]));
      normals.push(cross(sub(b, a), sub(c, a)));
      for (let k = 0; k < 3; k++) {
        const name = keys[triangles[3 * f + k]];
        if (!around.has(name)) around.set(name, []);
        around.get(name).push(f);
      }
    }
    const flat = normals.map(unit), found = new Float32Array(18 * count);
    for (let f = 0; f < count; f++) for (let k = 0; k < 3; k++) {
      let sum = [0, 0, 0];
      for (const other of around.get(keys[triangles[3 * f + k]]))
        if (dot(flat[f], flat[other]) > .766) sum = add(sum, normals[other]);
      found.set(point(triangles[3 * f + k]), 18 * f + 6 * k);
      found.set(unit(sum), 18 * f + 6 * k + 3);
    }
    return found;
  };
  const turned = (profile, sides = 16) => {  // a body of revolution about z
    const vertices = [], triangles = [];
    profile.forEach(([r, z]) => { for (let s = 0; s < sides; s++) {
      const a = 2 * Math.PI * s / sides;
      vertices.push(r * Math.cos(a), r * Math.sin(a), z);
    } });
    for (let p = 0; p + 1 < profile.length; p++) for (let s = 0; s < sides; s++) {
      const a = p * sides + s, b = p * sides + (s + 1) % sides;
      triangles.push(a, b, b + sides, a, b + sides, a + sides);
    }
    return shaded(new Float32Array(vertices), triangles);
  };
  const tube = (points, radius, sides = 6) => {
    const kept = points.filter((p, k) => !k || length(sub(p, points[k - 1])) > 1e-9);
    const vertices = [], triangles = [];
    kept.forEach((p, k) => {
      const way = unit(sub(kept[Math.min(k + 1, kept.length - 1)], kept[Math.max(k - 1, 0)]));
      const x = unit(cross(way, Math.abs(way[2]) < .9 ? [0, 0, 1] : [1, 0, 0])), y = cross(way, x);
      for (let s = 0; s < sides; s++) {
        const a = 2 * Math.PI * s / sides;
        vertices.push(...add(add(p, x, radius * Math.cos(a)), y, radius * Math.sin(a)));
        if (!k) continue;
        const b = (k - 1) * sides + s, c = (k - 1) * sides + (s + 1) % sides;
        triangles.push(b, c, c + sides, b, c + sides, b + sides);
      }
    });
    return shaded(new Float32Array(vertices), triangles);
  };

  // -- drawing --------------------------------------------------------------------------------
  const VERTEX = `#version 300 es
    in vec3 position; in vec3 normal; uniform mat4 model, eye; out vec3 turned, place;
    void main() {
      vec4 at = model * vec4(position, 1.0);
      turned = mat3(model) * normal; place = at.xyz;
      gl_Position = eye * at; gl_PointSize = 4.0;
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float; in vec3 turned, place; uniform vec4 colour; uniform vec3 from;
    uniform float lit; out vec4 pixel;
    void main() {
      vec3 n = normalize(turned), v = normalize(from - place);
      if (dot(n, v) < 0.0) n = -n;
      float sun = max(dot(n, normalize(vec3(0.3, -0.5, 0.85))), 0.0);
      float glint = pow(max(dot(n, normalize(v + normalize(vec3(0.3, -0.5, 0.85)))), 0.0), 40.0);
      vec3 shade = colour.rgb * (0.5 + 0.18 * n.z + 0.42 * sun + 0.12 * max(dot(n, v), 0.0));
      pixel = vec4(mix(colour.rgb, shade + 0.1 * glint, lit), colour.a);
    }`;
  class Canvas {
    constructor(canvas) {
      this.gl = canvas.getContext('webgl2', {antialias: true, alpha: false});
      if (!this.gl) throw new Error('this browser has no WebGL 2');
      const gl = this.gl, program = gl.createProgram();
      for (const [type, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
        const shader = gl.createShader(type);
        gl.shaderSource(shader, text);
        gl.compileShader(shader);
        gl.attachShader(program, shader);
      }
      gl.bindAttribLocation(program, 0, 'position');
      gl.bindAttribLocation(program, 1, 'normal');
      gl.linkProgram(program);
      gl.useProgram(program);
      gl.enable(gl.DEPTH_TEST);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      gl.clearColor(1, 1, 1, 1);
      this.uniform = {};
      for (const name of ['model', 'eye', 'colour', 'from', 'lit'])
        this.uniform[name] = gl.getUniformLocation(program, name);
    }
    store(data, mode = this.gl.TRIANGLES) {  // x, y, z and a normal each
      const gl = this.gl, vao = gl.createVertexArray();
      gl.bindVertexArray(vao);
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      for (const k of [0, 1]) {
        gl.enableVertexAttribArray(k);
        gl.vertexAttribPointer(k, 3, gl.FLOAT, false, 24, 12 * k);
      }
      return {vao, mode, count: data.length / 6};
    }
    begin(eye, from) {
      const gl = this.gl, {canvas} = gl, ratio = Math.min(window.devicePixelRatio || 1, 2);
      canvas.width = Math.max(canvas.clientWidth * ratio, 1);
      canvas.height = Math.max(canvas.clientHeight * ratio, 1);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.uniformMatrix4fv(this.uniform.eye, false, eye);
      gl.uniform3fv(this.uniform.from, from);
    }
    draw(item, model, colour, alpha = 1, lit = 1) {
      const gl = this.gl;
      gl.uniformMatrix4fv(this.uniform.model, false, model);
      gl.uniform4f(this.uniform.colour, ...colour, alpha);
      gl.uniform1f(this.uniform.lit, lit);
      gl.bindVertexArray(item.vao);
      gl.drawArrays(item.mode, 0, item.count);
    }
  }

  const used = (share, {stops, beyond, none, at}) => {
    if (share === null) return none;
    if (share > at) return beyond;
    const k = Math.max(stops.findIndex(stop => stop[0] >= share), 1);
    const [[a, first], [b, last]] = [stops[k - 1], stops[k]], s = Math.min((share - a) / (b - a), 1);
    return first.map((value, i) => value + s * (last[i] - value));
  };
  const css = colour => `rgb(${colour.map(v => Math.round(255 * v)).join()})`;
  const element = (name, options = {}, ...children) => {
    const found = Object.assign(document.createElement(name), options);
    found.append(...children);
    return found;
  };
  const number = value => {
    if (!Number.isFinite(value)) return '–';
    const digits = Math.max(0, 4 - Math.max(1, Math.floor(Math.log10(Math.abs(value) || 1)) + 1));
    return value.toFixed(Math.min(digits, 4)).replace(/^-(0(\.0*)?)$/, '$1').replace('-', '−');
  };
  const NAMES = {stroke: 'stroke', velocity: 'velocity', force: 'force',
    condition: 'condition of the Jacobian'};

  class Player {
    constructor(root, scene, buffer) {
      this.scene = scene;
      const read = what => array(buffer, what);
      for (const name of ['time', 'known', 'position', 'rotation']) this[name] = read(scene[name]);
      this.vectors = read(scene.arrows.vector);
      this.values = Object.entries(scene.values).map(
        ([name, each]) => ({name, unit: each.unit, values: read(each.values)}));
      this.uses = Object.entries(scene.use).map(([name, each]) => {
        const values = read(each.values), width = each.bodies.length;
        return {name, at: (frame, body) => {
          const k = each.bodies.indexOf(body), value = k < 0 ? NO_USE : values[frame * width + k];
          return value === NO_USE ? null : value / USE_STEPS;
        }};
      });
      this.count = this.time.length;
      this.duration = this.time[this.count - 1];
      this.largest = [false, true].map(moment => this.largestForce(moment));
      this.build(root);
      this.canvas = new Canvas(this.view);
      this.store(read);
      this.home();
      this.now = 0;
      this.choose(new URLSearchParams(window.location.hash.slice(1)));
      this.listen();
      new ResizeObserver(() => this.ask()).observe(this.view);
      this.ask();
    }

    largestForce(moment) {
      let most = 0;
      const width = this.scene.arrows.names.length;
      for (let k = 0; k < this.count * width; k++)
        if (this.scene.arrows.moment[k % width] === moment)
          most = Math.max(most, length(this.vectors.subarray(3 * k, 3 * k + 3)));
      return most;
    }

    store(read) {
      const {scene, canvas} = this, gl = canvas.gl, size = scene.size;
      this.meshes = scene.meshes.map(mesh => shaded(read(mesh.vertices), read(mesh.triangles)));
      this.low = [Infinity, Infinity, Infinity];
      this.high = [-Infinity, -Infinity, -Infinity];
      const cover = p => p.forEach((v, k) => {
        this.low[k] = Math.min(this.low[k], v);
        this.high[k] = Math.max(this.high[k], v);
      });
      const first = this.at(0);
      for (const [body, mesh] of scene.parts) {
        const m = first[body], data = this.meshes[mesh];
        for (let k = 0; k < data.length; k += 6) cover([0, 1, 2].map(
          r => m[r] * data[k] + m[4 + r] * data[k + 1] + m[8 + r] * data[k + 2] + m[12 + r]));
      }
      const path = Array.from({length: this.count}, (_, k) => Array.from(this.point(k)));
      path.forEach(cover);
      this.meshes = this.meshes.map(data => canvas.store(data));
      this.path = path.length > 1 ? canvas.store(tube(path, .0018 * size)) : null;
      this.shaft = canvas.store(turned([[0, 0], [1, 0], [1, 1], [0, 1]]));
      this.tip = canvas.store(turned([[0, 0], [1, 0], [0, 1]]));
      this.space = null;
      if (scene.workspace) {
        const vertices = read(scene.workspace.vertices);
        for (let k = 0; k < vertices.length; k += 3) cover(Array.from(vertices.subarray(k, k + 3)));
        const triangles = read(scene.workspace.triangles);
        if (triangles.length) this.space = canvas.store(shaded(vertices, triangles));
        else {
          const data = new Float32Array(2 * vertices.length);
          for (let k = 0; k < vertices.length; k += 3) data.set(vertices.subarray(k, k + 3), 2 * k);
          this.space = canvas.store(data, gl.POINTS);
        }
      }
      // a grid under the robot, in steps of 1, 2 or 5 times a power of ten
      const raw = size / 8, power = 10 ** Math.floor(Math.log10(raw));
      const step = power * [1, 2, 5, 10].find(k => k * power >= raw * .999), lines = [];
      const reach = 8 * step, z = Math.min(this.low[2], 0);
      const line = (a, b) => lines.push(...a, 0, 0, 1, ...b, 0, 0, 1);
      for (let k = -8; k <= 8; k++) {
        line([k * step, -reach, z], [k * step, reach, z]);
        line([-reach, k * step, z], [reach, k * step, z]);
      }
      this.grid = canvas.store(new Float32Array(lines), gl.LINES);
      this.step = step;
      this.axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    }

    build(root) {
      const {scene} = this;
      this.view = element('canvas', {tabIndex: 0});
      this.view.setAttribute('aria-label', `robot ${scene.robot} in three dimensions`);
      this.missing = element('span', {className: 'missing'});
      const said = element('div', {className: 'said'},
        element('b', {textContent: scene.title}), this.missing);
      this.button = element('button', {type: 'button', textContent: '▶', title: 'play or stop'});
      this.slider = element('input', {type: 'range', min: 0, max: this.duration || 1,
        step: 'any', value: 0});
      this.slider.setAttribute('aria-label', 'time');
      this.clock = element('span', {className: 'now'});
      this.speed = element('select', {title: 'speed'}, ...SPEEDS.map(
        value => element('option', {value, textContent: `× ${value}`, selected: value === 1})));
      const bar = element('div', {className: 'bar'}, this.button, this.slider, this.clock,
        this.speed);
      bar.hidden = this.count < 2;
      if (bar.hidden) bar.style.display = 'none';
      const stage = element('div', {className: 'stage'}, this.view, said, bar);
      this.shown = {};
      const has = {forces: scene.arrows.names.length, path: this.count > 1,
        workspace: scene.workspace, joints: scene.parts.some(part => part[3] === 'joints'),
        grid: true};
      const boxes = Object.keys(has).filter(name => has[name]).map(name => {
        const checked = name !== 'joints' || scene.skeleton;
        this.shown[name] = element('input', {type: 'checkbox', checked});
        return element('label', {}, this.shown[name], ` ${name}`);
      });
      this.colours = element('select', {}, element('option', {value: 'own', textContent: 'own'}));
      if (this.uses.length > 1)
        this.colours.append(element('option', {value: 'closest', textContent: 'closest limit'}));
      for (const {name} of this.uses)
        this.colours.append(element('option', {value: name, textContent: NAMES[name] || name}));
      this.scale = element('input', {type: 'range', min: -1, max: 1, step: 'any', value: 0,
        title: 'length of the forces'});
      const stops = scene.colours.stops.map(([share, colour]) => `${css(colour)} ${100 * share / 1.1}%`);
      const bar2 = element('i');
      bar2.style.background = `linear-gradient(90deg, ${stops.join()}, ${css(scene.colours.beyond)} 91.5%)`;
      const marks = [0, .5, .8, 1].map(share => {
        const mark = element('em', {textContent: `${100 * share} %`});
        mark.style.left = `${100 * (share + (share ? 0 : .07)) / 1.1}%`;
        return mark;
      });
      this.legend = element('div', {className: 'legend'}, bar2, element('span', {}, ...marks));
      const joints = scene.joints.map(name => {
        const cells = [element('td', {textContent: name})];
        for (let k = 0; k <= this.values.length; k++) cells.push(element('td'));
        return element('tr', {}, ...cells);
      });
      this.rows = joints;
      const head = ['', ...this.values.map(each => each.name), 'limit'].map(
        textContent => element('th', {textContent}));
      const units = this.values.map(each => [...new Set(each.unit)].join(', '));
      const below = ['', ...units, '%'].map(textContent => element('th', {textContent}));
      const table = element('table', {}, element('thead', {}, element('tr', {}, ...head),
        element('tr', {}, ...below)), element('tbody', {}, ...joints));
      const largest = this.largest.map((value, k) => value ? `${number(value)} ${k ? 'N m' : 'N'}`
        : '').filter(text => text).join(', ');
      const choices = [element('div', {className: 'choices'}, ...boxes)];
      choices.push(element('div', {className: 'choices'},
        element('label', {}, 'colours ', this.colours)), this.legend);
      if (largest) choices.push(element('label', {title: `largest: ${largest}`},
        'forces ', this.scale, ` ≤ ${largest}`));
      const notes = element('ul', {className: 'notes'},
        ...scene.notes.map(textContent => element('li', {textContent})));
      const help = element('p', {className: 'help', textContent:
        'Drag: turn. Shift or right button: move. Wheel: nearer. Double click: as at first. '
        + 'Space: play. ← →: step. '});
      this.help = help;
      const side = element('div', {className: 'side'}, ...choices, table, notes, help);
      root.append(stage, side);
    }

    choose(given) {
      if (given.has('t')) this.now = Math.min(Math.max(Number(given.get('t')) || 0, 0),
        this.duration);
      if (given.has('colours')) this.colours.value = given.get('colours');
      if (given.has('show')) for (const name in this.shown)
        this.shown[name].checked = given.get('show').split(',').includes(name);
      if (given.has('azimuth')) this.azimuth = Number(given.get('azimuth')) * Math.PI / 180;
      if (given.has('elevation')) this.elevation = Number(given.get('elevation')) * Math.PI / 180;
      if (!this.colours.value) this.colours.value = 'own';
    }

    home() {
      this.azimuth = -1.08;
      this.elevation = .36;
      this.target = this.low.map((v, k) => .5 * (v + this.high[k]));
      this.radius = .5 * length(sub(this.high, this.low)) || 1;
      this.distance = null;
    }

    listen() {
      const {view} = this, pointers = new Map();
      const turn = (dx, dy) => {
        this.azimuth -= .008 * dx;
        this.elevation = Math.min(Math.max(this.elevation + .008 * dy, -1.55), 1.55);
      };
      const shift = (dx, dy) => {
        const {right, up} = this.camera(), k = this.distance / view.clientHeight * .64;
        this.target = add(add(this.target, right, -dx * k), up, dy * k);
      };
      view.addEventListener('pointerdown', event => {
        view.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, event);
      });
      for (const name of ['pointerup', 'pointercancel'])
        view.addEventListener(name, event => pointers.delete(event.pointerId));
      view.addEventListener('pointermove', event => {
        const last = pointers.get(event.pointerId);
        if (!last) return;
        const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY];
        if (pointers.size === 2) {
          const other = [...pointers.values()].find(each => each.pointerId !== event.pointerId);
          const far = each => Math.hypot(each.clientX - other.clientX,
            each.clientY - other.clientY);
          this.distance *= far(last) / Math.max(far(event), 1);
          shift(dx / 2, dy / 2);
        } else if (event.shiftKey || event.buttons & 6) shift(dx, dy);
        else turn(dx, dy);
        pointers.set(event.pointerId, event);
        this.ask();
      });
      view.addEventListener('contextmenu', event => event.preventDefault());
      view.addEventListener('dblclick', () => { this.home(); this.ask(); });
      view.addEventListener('wheel', event => {
        event.preventDefault();
        this.distance *= Math.exp(.001 * event.deltaY);
        this.ask();
      }, {passive: false});
      view.addEventListener('keydown', event => {
        const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (event.key === ' ') this.play();
        else if (step) {
          const k = Math.min(Math.max(this.frame()[0] + step, 0), this.count - 1);
          this.seek(this.time[k]);
        } else return;
        event.preventDefault();
      });
      this.button.addEventListener('click', () => this.play());
      this.slider.addEventListener('input', () => this.seek(Number(this.slider.value)));
      for (const input of [...Object.values(this.shown), this.colours, this.scale])
        input.addEventListener('input', () => this.ask());
    }

    play() {
      this.playing = !this.playing;
      this.button.textContent = this.playing ? '❚❚' : '▶';
      this.last = null;
      this.ask();
    }

    seek(time) {
      this.now = time;
      this.ask();
    }

    ask() {
      if (this.asked) return;
      this.asked = true;
      requestAnimationFrame(stamp => {
        this.asked = false;
        if (this.playing) {
          const passed = this.last === null ? 0 : (stamp - this.last) / 1000;
          this.now += passed * Number(this.speed.value);
          if (this.now > this.duration) this.now %= this.duration || 1;
          this.last = stamp;
          this.ask();
        }
        this.render();
      });
    }

    frame() {  // the instant before, and how far to the next one
      let low = 0, high = this.count - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (this.time[middle] <= this.now) low = middle; else high = middle;
      }
      if (this.count > 1 && this.now >= this.time[high]) return [high, 0];
      const step = this.time[high] - this.time[low];
      const share = step > 0 ? (this.now - this.time[low]) / step : 0;
      return [low, this.known[low] && this.known[high] ? share : 0];
    }

    point(frame) {
      const k = 3 * (frame * this.scene.bodies.length + this.scene.platform);
      return this.position.subarray(k, k + 3);
    }

    at(frame, share = 0) {  // poses of all bodies
      const width = this.scene.bodies.length, next = Math.min(frame + 1, this.count - 1);
      return this.scene.bodies.map((_, body) => {
        const mix = (values, n) => {
          const a = n * (frame * width + body), b = n * (next * width + body);
          return Array.from({length: n}, (_, k) => values[a + k] * (1 - share)
            + values[b + k] * share);
        };
        const turn = mix(this.rotation, 4), size = Math.hypot(...turn) || 1;
        return pose(mix(this.position, 3), turn.map(value => value / size));
      });
    }

    camera() {
      const {azimuth, elevation} = this;
      const back = [Math.cos(elevation) * Math.cos(azimuth),
        Math.cos(elevation) * Math.sin(azimuth), Math.sin(elevation)];
      const right = [-Math.sin(azimuth), Math.cos(azimuth), 0], up = cross(back, right);
      const aspect = this.view.clientWidth / Math.max(this.view.clientHeight, 1), half = .32;
      if (!this.distance) this.distance = 1.04 * this.radius / Math.sin(
        Math.atan(Math.tan(half) * Math.min(aspect, 1)));
      const from = add(this.target, back, this.distance);
      const look = new Float32Array([right[0], up[0], back[0], 0, right[1], up[1], back[1], 0,
        right[2], up[2], back[2], 0, -dot(right, from), -dot(up, from), -dot(back, from), 1]);
      const reach = 8 * this.radius, near = Math.max(this.distance - reach, .01 * this.radius);
      const far = this.distance + reach, f = 1 / Math.tan(half), depth = near - far;
      const lens = new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / depth,
        -1, 0, 0, 2 * far * near / depth, 0]);
      return {eye: multiply(lens, look), from, right, up};
    }

    render() {
      const {scene, canvas, shown} = this, gl = canvas.gl, [frame, share] = this.frame();
      const {eye, from} = this.camera(), poses = this.at(frame, share);
      const known = this.known[frame], visible = name => shown[name] && shown[name].checked;
      canvas.begin(eye, from);
      if (visible('grid')) {
        canvas.draw(this.grid, IDENTITY, [.88, .89, .91], 1, 0);
        for (const axis of this.axes) canvas.draw(this.shaft, alongZ([0, 0, 0], axis,
          .003 * scene.size, .08 * scene.size), axis.map(v => .25 + .5 * v));
      }
      if (this.path && visible('path')) canvas.draw(this.path, IDENTITY, PATH);
      const alpha = known ? 1 : .3;
      for (const [body, mesh, colour, layer] of scene.parts) {
        if (layer === 'joints' && !visible('joints')) continue;
        const own = this.colours.value === 'own' || layer === 'joints';
        canvas.draw(this.meshes[mesh], poses[body], own ? colour : used(this.use(frame, body), scene.colours),
          alpha);
      }
      if (known && visible('forces')) this.drawForces(frame, share, poses);
      if (this.space && visible('workspace')) {
        const flat = this.space.mode === gl.POINTS;
        gl.depthMask(false);
        canvas.draw(this.space, IDENTITY, SPACE, flat ? .5 : .3, flat ? 0 : 1);
        gl.depthMask(true);
      }
      this.write(frame, share, known);
    }

    drawForces(frame, share, poses) {
      const {scene, canvas} = this, {names, bodies, moment} = scene.arrows, width = names.length;
      const gl = canvas.gl, next = Math.min(frame + 1, this.count - 1), size = scene.size;
      const items = [];
      names.forEach((_, k) => {
        const a = 3 * (frame * width + k), b = 3 * (next * width + k);
        const vector = [0, 1, 2].map(i => this.vectors[a + i] * (1 - share)
          + this.vectors[b + i] * share);
        const most = this.largest[Number(moment[k])];
        const long = most ? scene.arrow * size * 10 ** Number(this.scale.value) * length(vector) / most : 0;
        if (long < .004 * size) return;
        const tail = Array.from(poses[bodies[k]].subarray(12, 15)), way = unit(vector);
        const tip = Math.min(.055 * size, .6 * long), radius = .0075 * size;
        items.push([this.shaft, alongZ(tail, way, radius, long - tip)]);
        items.push([this.tip, alongZ(add(tail, way, long - tip), way, 2.6 * radius, tip)]);
        if (moment[k])  // two heads, as moments have
          items.push([this.tip, alongZ(add(tail, way, long - 1.7 * tip), way, 2.6 * radius, tip)]);
      });
      for (const [mesh, model] of items) canvas.draw(mesh, model, FORCE);
      gl.depthFunc(gl.GREATER);  // and faintly where bodies hide them
      for (const [mesh, model] of items) canvas.draw(mesh, model, FORCE, .3);
      gl.depthFunc(gl.LESS);
    }

    use(frame, body) {
      const wanted = this.colours.value;
      let found = null;
      for (const {name, at} of this.uses) {
        const value = wanted === 'closest' || wanted === name ? at(frame, body) : null;
        if (value !== null && (found === null || value > found)) found = value;
      }
      return found;
    }

    write(frame, share, known) {
      const {scene} = this, next = Math.min(frame + 1, this.count - 1);
      this.slider.value = this.now;
      this.clock.textContent = `${(this.now).toFixed(2)} s`;
      this.missing.textContent = known ? '' : 'no data here; the last known pose is shown';
      this.legend.style.display = this.colours.value === 'own' ? 'none' : '';
      const limit = scene.arrows.bodies;
      this.rows.forEach((row, k) => {
        const cells = row.children, width = scene.joints.length;
        this.values.forEach((each, c) => {
          const value = each.values[frame * width + k] * (1 - share)
            + each.values[next * width + k] * share;
          cells[c + 1].textContent = known ? number(value) : '–';
        });
        const arrow = scene.arrows.names.indexOf(scene.joints[k]);
        let closest = null;
        if (arrow >= 0) for (const {at} of this.uses) {
          const value = at(frame, limit[arrow]);
          if (value !== null) closest = Math.max(closest ?? 0, value);
        }
        const cell = cells[cells.length - 1];
        cell.textContent = closest === null || !known ? '–' : (100 * closest).toFixed(0);
        cell.style.color = closest > 1 ? css(scene.colours.beyond) : closest > .8 ? '#a64800' : '';
      });
      if (!this.told) {
        this.told = true;
        this.help.append(`Grid: ${number(this.step)} m. Axes: x red, y green, z blue.`);
      }
    }
  }

  const start = async root => {
    try {
      const scene = JSON.parse(root.querySelector('script').textContent);
      root.player = new Player(root, scene, await inflate(scene.blob));
      root.dataset.state = 'drawn';
    } catch (error) {
      root.dataset.state = 'failed';
      root.append(element('p', {textContent: `The view cannot be shown: ${error.message}`}));
    }
  };
  document.querySelectorAll('.pkm-player').forEach(root => start(root));
})();
