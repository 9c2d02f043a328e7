import type { Deadline } from '#bus';
import { searchLimits } from '#contracts/http/search';
import type { SearchReply, SearchRow } from '#contracts/http/search';
import { platformKey } from '#contracts/platform';
import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import type { ExistingCredentials } from '../domain/credentials.ts';
import { presentAction, presentSource } from '../domain/present-search.ts';
import { rankActions } from '../domain/search-rank.ts';
import { queryTermsOf } from '../domain/search-terms.ts';
import { findCredentialsOf } from '../lookups/existing-credentials.ts';
import { listSearchSources } from '../lookups/search-sources.ts';
import type { Source } from '../lookups/search-sources.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';

interface SearchFields {
  readonly principal: string;
  readonly query: string;
  readonly limit: number;
  readonly catalog: boolean;
}

/** What is built in is offered where it is clearly meant, and not beside what only looks like it. */
const platformScoreMin = 0.6;

/** Actions of the caller's services that match a query, or without one the services themselves. */
export async function search(
  deps: Deps,
  { principal, query, limit, catalog }: SearchFields,
  deadline: Deadline,
): Promise<SearchReply> {
  const caller = deps.readPrincipal(principal);
  const sources = await listSearchSources(deps, caller, { catalog });
  if (queryTermsOf(query).length === 0) {
    // What is built in is no service of anybody's.
    const shown = sources.filter(({ template }) => template.key !== platformKey).slice(0, limit);
    const existing = await credentialsOf(deps, caller, { shown, deadline });
    return { items: shown.map((source) => presentSource(source, { caller, existing })) };
  }
  const { misspellings } = deps.searchIndexes;
  const ranked = rankActions(query, sources, { limit, misspellings });
  const hits = ranked.filter(
    ({ source, score }) => source.template.key !== platformKey || score >= platformScoreMin,
  );
  const shown = hits.map(({ source }) => source);
  const existing = await credentialsOf(deps, caller, { shown, deadline });
  const rows = hits.map((hit) => presentAction(hit, { caller, existing }));
  return { items: await withSchemas(deps, caller, { rows, shown }) };
}

/** Which credentials of these services are there; nobody is asked about services that are not shown. */
function credentialsOf(
  { executor }: Deps,
  { orgId, userId }: Principal,
  { shown, deadline }: { shown: readonly Source[]; deadline: Deadline },
): Promise<ExistingCredentials> {
  const services = shown.flatMap(({ connected }) => connected?.service ?? []);
  return findCredentialsOf(executor, { orgId, userId, services }, deadline);
}

/** The best rows say how to call them, so that an agent needs no second look-up. */
function withSchemas(
  deps: Deps,
  { orgId }: Principal,
  { rows, shown }: { rows: readonly SearchRow[]; shown: readonly Source[] },
): Promise<SearchRow[]> {
  const completed = rows.map(async (row, at) => {
    const source = shown[at];
    if (at >= searchLimits.withSchema || row.action === null || source === undefined) return row;
    const template = await getTemplateVersion(deps, { orgId, template: source.template });
    const schema = template.actions[row.action]?.paramsSchema;
    return schema === undefined ? row : { ...row, params_schema: schema };
  });
  return Promise.all(completed);
}
