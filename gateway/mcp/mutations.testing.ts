/** Mutates a frame at one to four positions. The same seed always gives the same mutations. */
export function mutate(frame: string, seed: number): Buffer {
  const random = createRandom(seed + 1);
  let bytes: Buffer = Buffer.from(frame);
  const changeCount = 1 + Math.floor(random() * 4);
  for (let changeNumber = 0; changeNumber < changeCount; changeNumber += 1) {
    const at = Math.floor(random() * bytes.length);
    const change = changes[Math.floor(random() * changes.length)];
    if (change !== undefined) bytes = change(bytes, at, random);
  }
  return bytes;
}

type Change = (bytes: Buffer, at: number, random: () => number) => Buffer;

const splice = (bytes: Buffer, at: number, [cut, put]: [number, string | Buffer]) =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(at + cut)]);

const tokens = [
  'null',
  '[]',
  '{}',
  '""',
  '0',
  '-1',
  '1e999',
  'true',
  '\\u0000',
  '\\ud800',
  '"',
  '\\',
  ',',
  ':',
  '}',
  ']',
  '{"__proto__":1}',
  '"constructor":{}',
  '[[[[',
  '  ',
  '\n',
  '٣',
  '"id":null,',
];

const changes: readonly Change[] = [
  (bytes, at, random) => splice(bytes, at, [1, Buffer.from([Math.floor(random() * 256)])]),
  (bytes, at, random) => splice(bytes, at, [Math.floor(random() * 12), '']),
  (bytes, at, random) => splice(bytes, at, [0, tokens[Math.floor(random() * tokens.length)] ?? '']),
  (bytes, at, random) => splice(bytes, at, [0, bytes.subarray(at, at + Math.floor(random() * 40))]),
  (bytes, at) => bytes.subarray(0, at),
  // Replaces a value by a value of another type, so that the frame stays valid JSON.
  (bytes, _at, random) => {
    const text = bytes.toString('latin1');
    const values = [...text.matchAll(/:("[^"]*"|\d+|\{\}|null)/g)];
    const value = values[Math.floor(random() * values.length)];
    if (value === undefined) return bytes;
    const token = tokens[Math.floor(random() * 9)] ?? 'null';
    return splice(bytes, value.index + 1, [(value[1] ?? '').length, token]);
  },
];

/** The random number generator mulberry32: small, and with the same output on every machine. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
