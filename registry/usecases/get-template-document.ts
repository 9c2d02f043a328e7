import type { Tier } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { maySeeVersion, nameOf } from '../domain/own-template.ts';
import { getOwnTemplate, noTemplate } from '../lookups/known-templates.ts';
import { findDocument } from '../repository/template-version.ts';

interface GetDocumentFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  /** Null: the latest that the caller may see. */
  readonly version: number | null;
}

/** The document of a template as it was saved, for whoever edits or copies it. */
export async function getTemplateDocument(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, version }: GetDocumentFields,
): Promise<{ version: number; openapi: string }> {
  const caller = deps.readPrincipal(principal);
  const { own, outline } = await getOwnTemplate(deps, caller, { key, tier });
  const latest = maySeeVersion(caller, own, own.version) ? own.version : outline.version;
  const wanted = version ?? latest;
  if (!maySeeVersion(caller, own, wanted)) throw noTemplate(key, []);
  const openapi = await findDocument(deps.db, { ...nameOf(caller, tier, key), version: wanted });
  if (openapi === undefined) throw noTemplate(key, []);
  return { version: wanted, openapi };
}
