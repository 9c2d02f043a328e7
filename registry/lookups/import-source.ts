import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { importTemplateBody } from '#contracts/http/template-import';
import { importBytesMax } from '#contracts/http/template-import';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { EgressResponse } from '#egress';
import type { Deps } from '../deps.ts';
import { findUpload, readUpload } from '../repository/upload.ts';
import { noUpload } from '../usecases/continue-upload.ts';

type Source = z.infer<typeof importTemplateBody>['source'];

export interface ReadSource {
  readonly text: string | Uint8Array;
  readonly url: string | null;
}

const redirectsMax = 3;
const fetchMs = 30_000;

/** The document that is to be imported, as it was written. */
export async function readSource(
  deps: Pick<Deps, 'db' | 'egress'>,
  { orgId, userId }: Principal,
  { source, deadline }: { source: Source; deadline: Deadline },
): Promise<ReadSource> {
  if ('document' in source) return { text: source.document, url: null };
  if ('url' in source) return fetchDocument(deps, source.url, deadline);
  const upload = { id: source.upload_id, orgId, ownerId: userId };
  if ((await findUpload(deps.db, upload)) === undefined) throw noUpload();
  return { text: (await readUpload(deps.db, upload)).join(''), url: null };
}

/**
 * Fetches a document by the guarded client. Each redirect is a request of its own to it, so that
 * it may not lead where the first address could not have led.
 */
async function fetchDocument(
  { egress }: Pick<Deps, 'egress'>,
  given: string,
  deadline: Deadline,
): Promise<ReadSource> {
  const ends = Date.now() + Math.min(fetchMs, deadline.remainingMs());
  let url = withoutFragment(given);
  for (let hops = 0; hops <= redirectsMax; hops += 1) {
    const totalTimeoutMs = Math.max(1, ends - Date.now());
    const response = await egress.request({
      method: 'GET',
      url,
      headers: [['accept', 'application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.1']],
      totalTimeoutMs,
      maxBytes: importBytesMax,
    });
    const target = redirectOf(response, url);
    if (target === undefined) return { text: response.body, url };
    url = target;
  }
  throw invalidUrl(`redirects more than ${redirectsMax} times`);
}

function redirectOf({ status, headers }: EgressResponse, from: string): string | undefined {
  if (status === 200) return undefined;
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1];
  const target = status >= 300 && status < 400 && location ? URL.parse(location, from) : null;
  if (target === null) throw invalidUrl(`answered ${status} instead of a document`);
  return withoutFragment(target.href);
}

function withoutFragment(url: string): string {
  const parsed = new URL(url);
  parsed.hash = '';
  return parsed.href;
}

function invalidUrl(problem: string): AppError {
  return new AppError(
    'invalid_params',
    `The address ${problem}. Give that of the document itself.`,
    {
      details: { issues: [{ path: 'source.url', message: problem }] },
    },
  );
}
