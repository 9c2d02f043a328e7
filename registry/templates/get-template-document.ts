import type { Tier } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { maySeeVersion, templateNameOf } from './domain/own-template.ts';
import { getOwnTemplate, templateNotFound } from './visible-templates.ts';
import { findDocument } from './template-version.sql.ts';

interface GetDocumentFields {
  readonly principal: string;
  readonly key: string;
  readonly tier: Tier;
  /** The version to return. Null means the latest version that the caller may see. */
  readonly version: number | null;
}

/** Returns the document of a template as its author saved it, to edit or copy. */
export async function getTemplateDocument(
  deps: Pick<Deps, 'db' | 'catalog' | 'readPrincipal'>,
  { principal, key, tier, version }: GetDocumentFields,
): Promise<{ version: number; openapi: string }> {
  const caller = deps.readPrincipal(principal);
  const { own, outline } = await getOwnTemplate(deps, caller, { key, tier });
  const latestVersion = maySeeVersion(caller, own, own.version) ? own.version : outline.version;
  const wantedVersion = version ?? latestVersion;
  if (!maySeeVersion(caller, own, wantedVersion)) throw templateNotFound(key, []);
  const openapi = await findDocument(deps.db, {
    ...templateNameOf(caller, tier, key),
    version: wantedVersion,
  });
  if (openapi === undefined) throw templateNotFound(key, []);
  return { version: wantedVersion, openapi };
}
