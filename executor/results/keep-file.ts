import { v7 as uuidv7 } from 'uuid';

import type { StoredFile } from '#contracts/call';
import type { Deps } from '../deps.ts';
import { safeFileNameOf } from './domain/file-name.ts';
import { secretTextsOf } from '../request/domain/inject.ts';
import type { Credential } from '../request/domain/inject.ts';
import { createByteScrubber } from '../answers/domain/scrub-bytes.ts';
import { insertFile } from './file.sql.ts';
import type { PermitOrGap } from '../request/permit.ts';
import type { OpenFile } from '../limits/file-space.ts';
import type { Answer } from '../sending/sending.ts';

export type FileDeps = Pick<Deps, 'db' | 'files' | 'fileSpace' | 'baseUrl'>;

interface FileToKeep {
  readonly permit: Pick<PermitOrGap, 'orgId' | 'userId' | 'identityId' | 'chain'>;
  readonly answer: Pick<Answer, 'body' | 'stream' | 'url'>;
  readonly credentials: readonly Credential[];
  /** The answer's headers as the caller gets them, without injected values. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isText: boolean;
}

/**
 * Stores a body and returns a link. The caller and its ancestors can download the body from there
 * for an hour. The body is never in memory as a whole, and injected credentials are removed from
 * each piece. Throws `upstream_incomplete`, `upstream_timeout` or `response_too_large` when the
 * body cannot be read, `rate_limited` when the caller's files use up its share of the store, and
 * `unavailable` when the body cannot be stored.
 */
export async function keepFile(
  { db, files, fileSpace, baseUrl }: FileDeps,
  { permit, answer, credentials, headers, isText }: FileToKeep,
): Promise<StoredFile> {
  const id = uuidv7();
  const values = secretTextsOf(credentials);
  const reservedSpace = fileSpace.open(permit, id);
  const chunks = reserveBytes(scrubChunks(chunksOf(answer), { values, isText }), reservedSpace);
  const storedFile = await files.write(chunks).catch(async (error: unknown) => {
    await reservedSpace.close(0).catch(() => undefined);
    throw error;
  });
  await reservedSpace.close(storedFile.size);
  const contentType = mediaTypeOf(headers['content-type']);
  const name = safeFileNameOf({ disposition: headers['content-disposition'], url: answer.url });
  const { expiresAt } = await insertFile(db, {
    ...storedFile,
    id,
    orgId: permit.orgId,
    audience: permit.chain.map((link) => link.id),
    name,
    contentType,
  });
  return {
    download_url: `${baseUrl}/v1/files/${id}`,
    name,
    content_type: contentType,
    size: storedFile.size,
    sha256: storedFile.sha256,
    expires_at: expiresAt.toISOString(),
  };
}

/** The largest piece of a body that is scrubbed and stored at once. */
const pieceBytesMax = 64 * 1024;

async function* chunksOf({ stream, body }: FileToKeep['answer']): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream ?? (body === null ? [] : [body])) {
    for (let offset = 0; offset < chunk.length; offset += pieceBytesMax) {
      yield chunk.subarray(offset, offset + pieceBytesMax);
    }
  }
}

async function* scrubChunks(
  chunks: AsyncIterable<Uint8Array>,
  { values, isText }: { values: readonly string[]; isText: boolean },
): AsyncGenerator<Uint8Array> {
  const scrubber = createByteScrubber(values, { isText });
  for await (const chunk of chunks) yield scrubber.push(chunk);
  yield scrubber.end();
}

async function* reserveBytes(
  chunks: AsyncIterable<Uint8Array>,
  reservedSpace: OpenFile,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    await reservedSpace.reach(size);
    yield chunk;
  }
}

const mediaType =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,80}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,80}(\s*;\s*charset="?[a-z0-9._:-]{1,30}"?)?$/i;

/**
 * The media type that the file is served with. An invalid one becomes `application/octet-stream`.
 */
function mediaTypeOf(header: string | undefined): string {
  return header !== undefined && mediaType.test(header) ? header : 'application/octet-stream';
}
