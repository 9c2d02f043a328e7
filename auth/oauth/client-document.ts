import { LRUCache } from 'lru-cache';
import { errors } from 'oidc-provider';

import type { Database } from '#database';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import type { Logger } from '#telemetry';
import { isClientProblem, readClientMetadata } from '../oauth-clients/domain/oauth-client.ts';
import type { OauthClient } from '../oauth-clients/domain/oauth-client.ts';
import { upsertDocumentClient } from '../oauth-clients/oauth-clients.sql.ts';

const documentBytesMax = 5 * 1024;
const documentTimeoutMs = 5_000;
const ttlSecondsMin = 60;
const ttlSecondsMax = 86_400;
const cachedFailuresMax = 1_000;
const failureCacheMs = 30_000;

interface ClientDocumentsOptions {
  readonly db: Database;
  readonly egress: Egress;
  readonly logger: Logger;
  /** Further schemes that redirect URIs may have. */
  readonly redirectSchemes: ReadonlySet<string>;
}

export interface ClientDocuments {
  /**
   * Reads the client that the document at this URL describes. Throws `invalid_client` when the
   * document cannot be used.
   */
  read(url: string): Promise<OauthClient>;
}

/**
 * Reads client-id metadata documents through the egress guard. Parallel requests for the same
 * document share one fetch. A failure is cached for half a minute, because a page that reloads in a
 * loop must not cause a request each time.
 */
export function createClientDocuments(deps: ClientDocumentsOptions): ClientDocuments {
  const failuresByUrl = new LRUCache<string, Error>({
    max: cachedFailuresMax,
    ttl: failureCacheMs,
  });
  const loadsByUrl = new Map<string, Promise<OauthClient>>();

  const loadDocument = async (url: string): Promise<OauthClient> => {
    try {
      return await readClientDocument(deps, url);
    } catch (error) {
      if (error instanceof errors.InvalidClient) failuresByUrl.set(url, error);
      throw error;
    } finally {
      loadsByUrl.delete(url);
    }
  };
  return {
    async read(url) {
      const failure = failuresByUrl.get(url);
      if (failure !== undefined) throw failure;
      const request = loadsByUrl.get(url) ?? loadDocument(url);
      loadsByUrl.set(url, request);
      return request;
    },
  };
}

/**
 * Fetches one document and stores its content for the time in its Cache-Control header, but at
 * least a minute and at most a day. Its fields follow the rules of a registration. Throws
 * `invalid_client` when the document cannot be used, because its URL then identifies no client.
 */
async function readClientDocument(
  { db, egress, logger, redirectSchemes }: ClientDocumentsOptions,
  url: string,
): Promise<OauthClient> {
  const response = await egress
    .request({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      maxBytes: documentBytesMax,
      totalTimeoutMs: documentTimeoutMs,
      firstByteTimeoutMs: documentTimeoutMs,
    })
    .catch((error: unknown) => {
      logger.info({ err: error, url }, 'a client metadata document could not be read');
      throw unusableDocumentError(
        error instanceof AppError ? error.message : 'It could not be read.',
      );
    });
  if (response.status !== 200)
    throw unusableDocumentError(`Its address answered ${response.status}.`);
  const document = parseDocument(response.body);
  if (document['client_id'] !== url)
    throw unusableDocumentError('It must name its own address as client_id.');
  if (Object.keys(document).some((name) => name.startsWith('client_secret'))) {
    throw unusableDocumentError('It must not hold a secret.');
  }
  const fields = readClientMetadata(document, redirectSchemes);
  if (isClientProblem(fields)) throw unusableDocumentError(fields.description);
  const ttlSeconds = ttlSecondsOf(response.headers);
  await upsertDocumentClient(db, { id: url, ...fields, ttlSeconds });
  return { id: url, kind: 'metadata_document', ...fields };
}

function parseDocument(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const parsedDocument: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(body),
    );
    if (
      typeof parsedDocument === 'object' &&
      parsedDocument !== null &&
      !Array.isArray(parsedDocument)
    ) {
      return parsedDocument as Record<string, unknown>;
    }
  } catch {
    // Invalid JSON gets the same error as a document that is not an object.
  }
  throw unusableDocumentError('It must be a JSON object.');
}

function ttlSecondsOf(headers: readonly (readonly [string, string])[]): number {
  const cacheControl = headers.find(([name]) => name.toLowerCase() === 'cache-control')?.[1] ?? '';
  const maxAge = Number(/(?:^|[\s,])max-age=(\d{1,9})/i.exec(cacheControl)?.[1] ?? ttlSecondsMin);
  return Math.min(ttlSecondsMax, Math.max(ttlSecondsMin, maxAge));
}

function unusableDocumentError(reason: string): Error {
  const error = new errors.InvalidClient('client is invalid');
  error.error_description = `The client metadata document cannot be used. ${reason}`;
  return error;
}
