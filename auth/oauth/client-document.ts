import { LRUCache } from 'lru-cache';
import { errors } from 'oidc-provider';

import { AppError } from '#errors';
import { isClientProblem, readClientMetadata } from '../domain/oauth-client.ts';
import type { OauthClient } from '../domain/oauth-client.ts';
import { upsertDocumentClient } from '../repository/oauth-clients.ts';
import type { OauthDeps } from './deps.ts';

const documentBytesMax = 5 * 1024;
const totalTimeoutMs = 5_000;
const ttlSecondsMin = 60;
const ttlSecondsMax = 86_400;
const failuresMax = 1_000;
const failureMs = 30_000;

export interface ClientDocuments {
  /** The client that the document at this URL describes; throws `invalid_client` when it cannot be used. */
  read(url: string): Promise<OauthClient>;
}

/**
 * Reads client-id metadata documents through the guarded client. One that cannot be used is not
 * asked for again for half a minute, and all requests at the same time share one look: a page in
 * a loop must not make this server dial, nor a browser wait twice.
 */
export function createClientDocuments(
  deps: Pick<OauthDeps, 'db' | 'egress' | 'logger'>,
): ClientDocuments {
  const failures = new LRUCache<string, Error>({ max: failuresMax, ttl: failureMs });
  const loading = new Map<string, Promise<OauthClient>>();

  const load = async (url: string): Promise<OauthClient> => {
    try {
      return await readClientDocument(deps, url);
    } catch (thrown) {
      if (thrown instanceof errors.InvalidClient) failures.set(url, thrown);
      throw thrown;
    } finally {
      loading.delete(url);
    }
  };
  return {
    async read(url) {
      const failure = failures.get(url);
      if (failure !== undefined) throw failure;
      const look = loading.get(url) ?? load(url);
      loading.set(url, look);
      return look;
    },
  };
}

/**
 * Reads one document and keeps what it says for as long as its own Cache-Control asks for, a
 * minute to a day. Everything else about it is as with a registration. Throws `invalid_client`,
 * because the document is what makes the id one.
 */
async function readClientDocument(
  { db, egress, logger }: Pick<OauthDeps, 'db' | 'egress' | 'logger'>,
  url: string,
): Promise<OauthClient> {
  const response = await egress
    .request({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      maxBytes: documentBytesMax,
      totalTimeoutMs,
      firstByteTimeoutMs: totalTimeoutMs,
    })
    .catch((thrown: unknown) => {
      logger.info({ err: thrown, url }, 'a client metadata document could not be read');
      throw invalid(thrown instanceof AppError ? thrown.message : 'It could not be read.');
    });
  if (response.status !== 200) throw invalid(`Its address answered ${response.status}.`);
  const document = parse(response.body);
  if (document['client_id'] !== url) throw invalid('It must name its own address as client_id.');
  if (Object.keys(document).some((name) => name.startsWith('client_secret'))) {
    throw invalid('It must not hold a secret.');
  }
  const fields = readClientMetadata(document);
  if (isClientProblem(fields)) throw invalid(fields.description);
  const ttlSeconds = ttlOf(response.headers);
  await upsertDocumentClient(db, { id: url, ...fields, ttlSeconds });
  return { id: url, kind: 'metadata_document', ...fields };
}

function parse(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
      return parsed as Record<string, unknown>;
    }
  } catch {
    // The same to the caller as a document that is no object.
  }
  throw invalid('It must be a JSON object.');
}

function ttlOf(headers: readonly (readonly [string, string])[]): number {
  const cacheControl = headers.find(([name]) => name.toLowerCase() === 'cache-control')?.[1] ?? '';
  const maxAge = Number(/(?:^|[\s,])max-age=(\d{1,9})/i.exec(cacheControl)?.[1] ?? ttlSecondsMin);
  return Math.min(ttlSecondsMax, Math.max(ttlSecondsMin, maxAge));
}

function invalid(why: string): Error {
  const error = new errors.InvalidClient('client is invalid');
  error.error_description = `The client metadata document cannot be used. ${why}`;
  return error;
}
