import type { z } from 'zod';

import type { Deadline } from '#bus';
import type {
  importedTemplate,
  importTemplateBody,
  ImportProgress,
} from '#contracts/http/template-import';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { presentFindings, presentOperations, presentRefusal } from './domain/present-import.ts';
import { checkMayWrite, templateNameOf } from '../templates/domain/own-template.ts';
import type { Imported } from './domain/imported.ts';
import { invalidTemplate, readValidDocument } from '../templates/read-document.ts';
import { readImportSource } from './read-import-source.ts';
import { listTemplates } from '../templates/template.sql.ts';
import { reserveFirstVersion } from '../templates/create-template.ts';
import { baseOf, parseBaseUrl } from '../servers/domain/base-url.ts';
import { withProgress } from './import-progress.ts';
import { saveVersion } from '../templates/save-template-version.ts';
import type { SavedTemplate } from '../templates/save-template-version.ts';
import { getLatestVersion, reserveNextVersion } from '../templates/update-template.ts';

type Body = z.infer<typeof importTemplateBody>;

/** Imports any OpenAPI document as a draft of a template, and reports how the document was read. */
export async function importTemplate(
  deps: Deps,
  { principal, body }: { principal: string; body: Body },
  deadline: Deadline,
): Promise<z.infer<typeof importedTemplate>> {
  const caller = deps.readPrincipal(principal);
  const tier = body.tier ?? 'user';
  checkMayWrite(caller, tier);
  const { source } = body;
  return deps.importSlots.run(caller.userId, () => {
    const runImport = (reportProgress: ReportProgress) =>
      importAsDraft(deps, caller, { body, tier, deadline, reportProgress });
    if (!('upload_id' in source)) return runImport(() => {});
    const { orgId, userId: ownerId } = caller;
    return withProgress(deps, { id: source.upload_id, orgId, ownerId }, runImport);
  });
}

type ReportProgress = (progress: ImportProgress) => void;

async function importAsDraft(
  deps: Deps,
  caller: Principal,
  {
    body,
    tier,
    deadline,
    reportProgress,
  }: { body: Body; tier: Tier; deadline: Deadline; reportProgress: ReportProgress },
): Promise<z.infer<typeof importedTemplate>> {
  const baseUrl = readBaseUrl(body.base_url);
  const { text, url } = await readImportSource(deps, caller, { source: body.source, deadline });
  const importResult = await deps.importDocument({
    owner: caller.userId,
    text,
    includeOperations: body.include_operations ?? null,
    key: body.key ?? null,
    sourceUrl: url,
    baseUrl,
    apiKey: body.api_key ?? null,
    onStart: () => reportProgress({ phase: 'reading', done: 0, total: null }),
    onProgress: (done, total) => reportProgress({ phase: 'converting', done, total }),
  });
  if (!importResult.ok) throw invalidTemplate(presentRefusal(importResult.findings));
  const { length: operationCount } = importResult.operations;
  reportProgress({ phase: 'saving', done: operationCount, total: operationCount });
  const template = await saveImported(deps, caller, { imported: importResult, tier, url });
  const operations = presentOperations(importResult.operations);
  return {
    template,
    operations,
    operations_count: operationCount,
    findings: presentFindings(importResult.findings),
  };
}

/** The base URL as `servers` of a template holds it. Throws `invalid_params` when it cannot. */
function readBaseUrl(text: string | undefined): string | null {
  if (text === undefined) return null;
  const url = parseBaseUrl(text);
  if (typeof url !== 'string') return baseOf(url);
  const plainHttpHint = /^http:/i.test(text)
    ? ' For an API within your network, import it without base_url and publish it for the org; an admin then gives base_url when connecting the org service.'
    : '';
  throw new AppError('invalid_params', `The base_url cannot be used. ${url}${plainHttpHint}`, {
    details: { issues: [{ path: 'base_url', message: url }] },
  });
}

interface DocumentToSave {
  readonly imported: Extract<Imported, { ok: true }>;
  readonly tier: Tier;
  readonly url: string | null;
}

/**
 * Saves the imported document as the first version of a template, or as the next version when a
 * template with the key exists.
 */
async function saveImported(
  deps: Deps,
  caller: Principal,
  { imported, tier, url }: DocumentToSave,
): Promise<SavedTemplate> {
  const name = templateNameOf(caller, tier, imported.key);
  const openapi = imported.document;
  const validDocument = await readValidDocument(deps, {
    openapi,
    tier,
    ownerId: name.ownerId,
    authorId: caller.userId,
  });
  const { orgId, userId } = caller;
  const existingTemplates = await listTemplates(deps.db, {
    orgId,
    userId,
    key: name.key,
    limit: 2,
  });
  const ownTemplate = existingTemplates.find((each) => each.own.tier === tier)?.own;
  const versionFields = { ...validDocument, sourceUrl: url === null ? null : withoutQuery(url) };
  if (ownTemplate === undefined) {
    return saveVersion(deps, caller, {
      ...versionFields,
      before: null,
      reserve: (tx) => reserveFirstVersion(tx, name),
    });
  }
  return saveVersion(deps, caller, {
    ...versionFields,
    before: await getLatestVersion(deps, caller, ownTemplate),
    reserve: (tx) => reserveNextVersion(tx, { ...name, from: ownTemplate.version }),
  });
}

/**
 * Removes the query of the URL: everyone who can read the template sees its source URL, and the
 * query may contain a token.
 */
function withoutQuery(url: string): string {
  const shownUrl = new URL(url);
  shownUrl.search = '';
  return shownUrl.href;
}
