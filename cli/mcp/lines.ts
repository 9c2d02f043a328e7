const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * The lines of a stream, without their ends and without the empty ones. A line of more than
 * `limit` bytes comes as undefined, without ever being held whole.
 *
 * What the reader does not take is not read: a slow gateway makes a fast editor wait.
 */
export async function* readLines(
  input: AsyncIterable<Buffer>,
  limit: number,
): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  const take = (): Buffer | undefined => {
    const line = size > limit ? undefined : withoutReturn(Buffer.concat(parts));
    parts = [];
    size = 0;
    return line;
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      const line = take();
      if (line?.length !== 0) yield line;
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  const last = take();
  if (last?.length !== 0) yield last;

  function add(part: Buffer): void {
    size += part.length;
    if (size > limit) parts = [];
    else parts.push(part);
  }
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
