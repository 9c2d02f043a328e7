/**
 * The body of an answer as text.
 *
 * @throws Error if it has more than `bytesMax` bytes, or if the connection breaks off.
 */
export async function readAnswerBody(answer: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > bytesMax) throw new Error(`more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The largest document that a login needs: metadata, or an answer with tokens. */
const documentBytesMax = 1_024 * 1_024;

/** Like `fetch`, for documents of a login: an answer of more than 1 MiB is an error. */
export async function fetchDocument(url: string | URL, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init);
  if (answer.body === null) return answer;
  const { status, headers } = answer;
  return new Response(await readAnswerBody(answer, documentBytesMax), { status, headers });
}
