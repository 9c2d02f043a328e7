const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Yields the non-empty lines of a stream, without line ends. For a line of more than `limit` bytes
 * it yields undefined, and never keeps the whole line in memory.
 *
 * The stream is read only as fast as the lines are consumed, so a slow gateway slows down a fast
 * editor.
 */
export async function* readLines(
  input: AsyncIterable<Buffer>,
  limit: number,
): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  const takeLine = (): Buffer | undefined => {
    const line = size > limit ? undefined : withoutCarriageReturn(Buffer.concat(parts));
    parts = [];
    size = 0;
    return line;
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      add(chunk.subarray(start, end));
      const line = takeLine();
      if (line?.length !== 0) yield line;
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  const lastLine = takeLine();
  if (lastLine?.length !== 0) yield lastLine;

  function add(part: Buffer): void {
    size += part.length;
    if (size > limit) parts = [];
    else parts.push(part);
  }
}

function withoutCarriageReturn(line: Buffer): Buffer {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
