import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { importTemplateBody } from '#contracts/http/template-import';
import { importBytesMax } from '#contracts/http/template-import';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { EgressResponse } from '#egress';
import type { Deps } from '../deps.ts';
import { findUpload, readUpload } from './upload.sql.ts';
import { uploadNotFound } from './continue-upload.ts';

type ImportBodySource = z.infer<typeof importTemplateBody>['source'];

export interface ReadImportSource {
  readonly text: string | Uint8Array;
  readonly url: string | null;
}

const redirectsMax = 3;
const fetchTimeoutMs = 30_000;

/** Reads the document to import from the request itself, from an upload or from a URL. */
export async function readImportSource(
  deps: Pick<Deps, 'db' | 'egress'>,
  { orgId, userId }: Principal,
  { source, deadline }: { source: ImportBodySource; deadline: Deadline },
): Promise<ReadImportSource> {
  if ('document' in source) return { text: source.document, url: null };
  if ('url' in source) return fetchDocument(deps, source.url, deadline);
  const upload = { id: source.upload_id, orgId, ownerId: userId };
  if ((await findUpload(deps.db, upload)) === undefined) throw uploadNotFound();
  return { text: (await readUpload(deps.db, upload)).join(''), url: null };
}

/**
 * Fetches a document with the guarded client. Each redirect is a new request with the same checks,
 * so that a redirect cannot reach a host that the first URL could not.
 */
async function fetchDocument(
  { egress }: Pick<Deps, 'egress'>,
  documentUrl: string,
  deadline: Deadline,
): Promise<ReadImportSource> {
  const endsAt = Date.now() + Math.min(fetchTimeoutMs, deadline.remainingMs());
  let url = stripFragment(documentUrl);
  for (let hops = 0; hops <= redirectsMax; hops += 1) {
    const totalTimeoutMs = Math.max(1, endsAt - Date.now());
    const response = await egress.request({
      method: 'GET',
      url,
      headers: [['accept', 'application/json, application/yaml;q=0.9, text/yaml;q=0.9, */*;q=0.1']],
      totalTimeoutMs,
      maxBytes: importBytesMax,
    });
    const redirectTarget = redirectTargetOf(response, url);
    if (redirectTarget === undefined) return { text: response.body, url };
    url = redirectTarget;
  }
  throw invalidUrl(`redirects more than ${redirectsMax} times`);
}

function redirectTargetOf(
  { status, headers }: EgressResponse,
  baseUrl: string,
): string | undefined {
  if (status === 200) return undefined;
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1];
  const redirectTarget =
    status >= 300 && status < 400 && location ? URL.parse(location, baseUrl) : null;
  if (redirectTarget === null) throw invalidUrl(`answered ${status} instead of a document`);
  return stripFragment(redirectTarget.href);
}

function stripFragment(url: string): string {
  const parsedUrl = new URL(url);
  parsedUrl.hash = '';
  return parsedUrl.href;
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
