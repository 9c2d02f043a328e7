import type { z } from 'zod';

import type { Deadline } from '#bus';
import type {
  importedTemplate,
  importTemplateBody,
  ImportProgress,
} from '#contracts/http/template-import';
import type { Principal, Tier } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { presentFindings, presentOperations, refusalOf } from '../domain/present-import.ts';
import { checkMayWrite, nameOf } from '../domain/own-template.ts';
import type { Imported } from '../import/index.ts';
import { invalidTemplate, readValidDocument } from '../lookups/compiled-document.ts';
import { readSource } from '../lookups/import-source.ts';
import { listTemplates } from '../repository/template.ts';
import { reserveNew } from './create-template.ts';
import { withProgress } from './import-progress.ts';
import { saveVersion } from './save-version.ts';
import type { SavedTemplate } from './save-version.ts';
import { getLatest, reserveNext } from './update-template.ts';

type Body = z.infer<typeof importTemplateBody>;

/** Saves a draft made from any OpenAPI document, and says how the document was read. */
export async function importTemplate(
  deps: Deps,
  { principal, body }: { principal: string; body: Body },
  deadline: Deadline,
): Promise<z.infer<typeof importedTemplate>> {
  const caller = deps.readPrincipal(principal);
  const tier = body.tier ?? 'user';
  checkMayWrite(caller, tier);
  const { source } = body;
  return deps.importSlots.run(() => {
    const run = (tell: Tell) => importFor(deps, caller, { body, tier, deadline, tell });
    if (!('upload_id' in source)) return run(() => {});
    const { orgId, userId: ownerId } = caller;
    return withProgress(deps, { id: source.upload_id, orgId, ownerId }, run);
  });
}

type Tell = (progress: ImportProgress) => void;

async function importFor(
  deps: Deps,
  caller: Principal,
  { body, tier, deadline, tell }: { body: Body; tier: Tier; deadline: Deadline; tell: Tell },
): Promise<z.infer<typeof importedTemplate>> {
  const { text, url } = await readSource(deps, caller, { source: body.source, deadline });
  const imported = await deps.importDocument({
    text,
    includeOperations: body.include_operations ?? null,
    key: body.key ?? null,
    sourceUrl: url,
    onStart: () => tell({ phase: 'reading', done: 0, total: null }),
    onProgress: (done, total) => tell({ phase: 'converting', done, total }),
  });
  if (!imported.ok) throw invalidTemplate(refusalOf(imported.findings));
  const { length: total } = imported.operations;
  tell({ phase: 'saving', done: total, total });
  const template = await saveImported(deps, caller, { imported, tier, url });
  const operations = presentOperations(imported.operations);
  return {
    template,
    operations,
    operations_count: total,
    findings: presentFindings(imported.findings),
  };
}

interface ImportedDocument {
  readonly imported: Extract<Imported, { ok: true }>;
  readonly tier: Tier;
  readonly url: string | null;
}

/** The first version of a template, or the next of one that has the key already. */
async function saveImported(
  deps: Deps,
  caller: Principal,
  { imported, tier, url }: ImportedDocument,
): Promise<SavedTemplate> {
  const name = nameOf(caller, tier, imported.key);
  const openapi = imported.document;
  const read = await readValidDocument(deps, { openapi, tier, ownerId: name.ownerId });
  const { orgId, userId } = caller;
  const known = await listTemplates(deps.db, { orgId, userId, key: name.key, limit: 2 });
  const own = known.find((each) => each.own.tier === tier)?.own;
  const common = { ...read, sourceUrl: url === null ? null : withoutQuery(url) };
  if (own === undefined) {
    return saveVersion(deps, caller, {
      ...common,
      before: null,
      reserve: (tx) => reserveNew(tx, name),
    });
  }
  return saveVersion(deps, caller, {
    ...common,
    before: await getLatest(deps, caller, own),
    reserve: (tx) => reserveNext(tx, { ...name, from: own.version }),
  });
}

/** Everybody who sees the template sees where it came from; a query may hold a token. */
function withoutQuery(url: string): string {
  const shown = new URL(url);
  shown.search = '';
  return shown.href;
}
