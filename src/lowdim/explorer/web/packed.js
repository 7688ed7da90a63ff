// Numbers as Python sends them (explorer/endpoints.py).

/** @typedef {Float64Array & {shape: number[]}} Tensor */

/** Arrays that travelled as base64 of little-endian doubles, wherever they stand. @param {any} value @returns {any} */
export function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.f8 === "string" || typeof value.f4 === "string") return array(value);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, unpacked(part)]));
}

/** @param {{f8?: string, f4?: string, shape: number[]}} packed @returns {Tensor} */
function array(packed) {
  const text = atob(packed.f8 ?? packed.f4 ?? ""),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const numbers =
    packed.f8 !== undefined ? new Float64Array(bytes.buffer) : Float64Array.from(new Float32Array(bytes.buffer));
  return Object.assign(numbers, {shape: packed.shape});
}
