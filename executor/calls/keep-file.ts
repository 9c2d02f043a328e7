import { v7 as uuidv7 } from 'uuid';

import type { StoredFile } from '#contracts/call';
import type { Deps } from '../deps.ts';
import { safeFileName } from '../domain/file-name.ts';
import type { Credential } from '../domain/inject.ts';
import { createByteScrubber } from '../domain/scrub-bytes.ts';
import { insertFile } from '../repository/file.ts';
import type { CallFacts } from './facts.ts';
import type { OpenFile } from './file-space.ts';
import type { Answer } from './send.ts';

export type FileDeps = Pick<Deps, 'db' | 'files' | 'fileSpace' | 'baseUrl'>;

interface KeptFile {
  readonly facts: Pick<CallFacts, 'orgId' | 'userId' | 'identityId' | 'chain'>;
  readonly answer: Pick<Answer, 'body' | 'stream' | 'url'>;
  readonly credentials: readonly Credential[];
  /** As the caller gets them: without injected values. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isText: boolean;
}

/**
 * Stores a body and answers where it can be had for an hour, by the caller and its ancestors. It
 * never is in memory as a whole, and injected credentials are taken out as it passes. Throws what
 * broke it: `upstream_incomplete`, `upstream_timeout`, `response_too_large`, `rate_limited` when the
 * caller's files fill its share of the store, or `unavailable` when it cannot be stored.
 */
export async function keepFile(
  { db, files, fileSpace, baseUrl }: FileDeps,
  { facts, answer, credentials, headers, isText }: KeptFile,
): Promise<StoredFile> {
  const id = uuidv7();
  const values = credentials.map(({ value }) => value);
  const space = fileSpace.open(facts, id);
  const chunks = counted(scrubbed(chunksOf(answer), { values, isText }), space);
  const stored = await files.write(chunks).catch(async (thrown: unknown) => {
    await space.close(0).catch(() => undefined);
    throw thrown;
  });
  await space.close(stored.size);
  const contentType = mediaTypeOf(headers['content-type']);
  const name = safeFileName({ disposition: headers['content-disposition'], url: answer.url });
  const { expiresAt } = await insertFile(db, {
    ...stored,
    id,
    orgId: facts.orgId,
    audience: facts.chain.map((link) => link.id),
    name,
    contentType,
  });
  return {
    download_url: `${baseUrl}/v1/files/${id}`,
    name,
    content_type: contentType,
    size: stored.size,
    sha256: stored.sha256,
    expires_at: expiresAt.toISOString(),
  };
}

/** One piece of a body is at most this large: it is also how much is looked through at once. */
const pieceBytesMax = 64 * 1024;

async function* chunksOf({ stream, body }: KeptFile['answer']): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream ?? (body === null ? [] : [body])) {
    for (let at = 0; at < chunk.length; at += pieceBytesMax) {
      yield chunk.subarray(at, at + pieceBytesMax);
    }
  }
}

async function* scrubbed(
  chunks: AsyncIterable<Uint8Array>,
  { values, isText }: { values: readonly string[]; isText: boolean },
): AsyncGenerator<Uint8Array> {
  const scrubber = createByteScrubber(values, { isText });
  for await (const chunk of chunks) yield scrubber.push(chunk);
  yield scrubber.end();
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  space: OpenFile,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    await space.reach(size);
    yield chunk;
  }
}

const mediaType =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,80}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,80}(\s*;\s*charset="?[a-z0-9._:-]{1,30}"?)?$/i;

/** What the file is served as; anything that is no plain media type is just bytes. */
function mediaTypeOf(header: string | undefined): string {
  return header !== undefined && mediaType.test(header) ? header : 'application/octet-stream';
}
