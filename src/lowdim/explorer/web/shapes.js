// What a point looks like: a disc, square, triangle, diamond, cross or plus, full or hollow; by WebGL2 and by canvas.

const VERTEX = `#version 300 es
in vec2 place; in vec4 colour; in vec4 how;
uniform vec2 scale, shift; uniform float size;
out vec4 ink; flat out vec2 kind;
void main() {
  gl_Position = vec4(place * scale + shift, how.w > 0.5 ? 0.0 : 0.2, 1.0);
  gl_PointSize = size * (0.5 + how.z * 2.5);
  ink = colour; kind = how.xy * 255.0;
}`;
const SHAPED = `#version 300 es
precision mediump float;
in vec4 ink; flat in vec2 kind; out vec4 shown;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0; float r; int shape = int(kind.x + 0.5);
  if (shape == 1) r = max(abs(p.x), abs(p.y)) * 1.15;
  else if (shape == 2) r = max(abs(p.x) * 1.2 + (p.y - 0.7) * -0.6 - 0.1, p.y * 1.25);
  else if (shape == 3) r = (abs(p.x) + abs(p.y)) * 1.0;
  else if (shape == 4) r = min(abs(p.x - p.y), abs(p.x + p.y)) < 0.42 ? max(abs(p.x), abs(p.y)) * 1.1 : 2.0;
  else if (shape == 5) r = min(abs(p.x), abs(p.y)) < 0.3 ? max(abs(p.x), abs(p.y)) : 2.0;
  else r = length(p);
  if (r > 1.0 || (kind.y > 0.5 && r < 0.6 && shape < 4)) discard;
  shown = vec4(ink.rgb * ink.a, ink.a);
}`;
const PLAIN = `#version 300 es
precision mediump float;
in vec4 ink; flat in vec2 kind; out vec4 shown;
void main() { shown = vec4(ink.rgb * ink.a, ink.a); }`;

/** @param {WebGL2RenderingContext} gl */
export function compiled(gl) {
  const shader = (/** @type {number} */ kind, /** @type {string} */ text) => {
    const made = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(made, text);
    gl.compileShader(made);
    return made;
  };
  const program = (/** @type {string} */ fragment) => {
    const id = /** @type {WebGLProgram} */ (gl.createProgram());
    gl.attachShader(id, shader(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(id, shader(gl.FRAGMENT_SHADER, fragment));
    gl.linkProgram(id);
    const at = (/** @type {string} */ name) => gl.getAttribLocation(id, name),
      where = (/** @type {string} */ name) => gl.getUniformLocation(id, name);
    return {
      id,
      place: at("place"),
      colour: at("colour"),
      how: at("how"),
      scale: where("scale"),
      shift: where("shift"),
      size: where("size"),
    };
  };
  return {
    shaped: program(SHAPED),
    plain: program(PLAIN),
    buffers: {place: gl.createBuffer(), colour: gl.createBuffer(), how: gl.createBuffer()},
  };
}

/** The outline of a shape. @param {CanvasRenderingContext2D} context @param {number} shape @param {number} x @param {number} y @param {number} r */
export function outline(context, shape, x, y, r) {
  if (shape === 1) context.rect(x - r * 0.87, y - r * 0.87, 1.74 * r, 1.74 * r);
  else if (shape === 2) {
    context.moveTo(x, y - r);
    context.lineTo(x + r, y + 0.8 * r);
    context.lineTo(x - r, y + 0.8 * r);
    context.closePath();
  } else if (shape === 3) {
    context.moveTo(x, y - r);
    context.lineTo(x + r, y);
    context.lineTo(x, y + r);
    context.lineTo(x - r, y);
    context.closePath();
  } else if (shape === 4) {
    for (const [a, b] of [
      [-1, -1],
      [1, -1],
    ]) {
      context.moveTo(x + a * r, y + b * r);
      context.lineTo(x + a * r * 0.6, y + b * r);
      context.lineTo(x - a * r, y - b * r * 0.6);
      context.lineTo(x - a * r, y - b * r);
      context.closePath();
    }
  } else if (shape === 5) {
    context.rect(x - r, y - r * 0.28, 2 * r, 0.56 * r);
    context.rect(x - r * 0.28, y - r, 0.56 * r, 2 * r);
  } else context.arc(x, y, r, 0, 2 * Math.PI);
}
