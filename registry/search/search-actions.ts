import type { Deadline } from '#bus';
import { searchLimits } from '#contracts/http/search';
import type { SearchReply, SearchRow } from '#contracts/http/search';
import { platformKey } from '#contracts/platform';
import type { Principal } from '#contracts/vocabulary';
import { AppError, nearestName } from '#errors';
import type { Deps } from '../deps.ts';
import type { ExistingCredentials } from '../services/domain/credentials.ts';
import { fitSchema, fitSchemas } from './domain/fit-schemas.ts';
import { presentAction, presentSource } from './domain/present-search.ts';
import { rankActions } from './domain/search-rank.ts';
import { queryTermsOf } from './domain/search-terms.ts';
import { getServiceByName } from '../services/get-service-by-name.ts';
import { findCredentialsOfServices } from '../services/find-credentials.ts';
import { listSearchSources } from './search-sources.ts';
import type { ServiceSource } from './search-sources.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';

interface SearchFields {
  readonly principal: string;
  readonly query: string;
  readonly limit: number;
  readonly catalog: boolean;
  /**
   * Limits the search to the actions of this service. With `action`, the search returns only that
   * action.
   */
  readonly service?: string | undefined;
  readonly action?: string | undefined;
}

/**
 * An action of the platform service is shown only from this score on, because weak matches of it
 * would be noise for most queries.
 */
const platformScoreMin = 0.6;

/**
 * Finds the actions of the caller's services that match a query, or one action by its name. Lists
 * the services when the query is empty.
 */
export async function searchActions(
  deps: Deps,
  { principal, query, limit, catalog, service, action }: SearchFields,
  deadline: Deadline,
): Promise<SearchReply> {
  const caller = deps.readPrincipal(principal);
  const allSources = await listSearchSources(deps, caller, { catalog });
  const sources =
    service === undefined ? allSources : [await getSource(deps, caller, allSources, service)];
  const [named] = sources;
  if (action !== undefined && named !== undefined) {
    const namedCredentials = await findCredentialsOf(deps, caller, { shown: [named], deadline });
    return {
      items: [
        await presentNamedAction(
          deps,
          { caller, existing: namedCredentials },
          { source: named, action },
        ),
      ],
    };
  }
  if (queryTermsOf(query).length === 0) {
    // The list contains connected services, and the platform service is never connected.
    const shownSources = sources
      .filter(({ template }) => template.key !== platformKey)
      .slice(0, limit);
    const existingCredentials = await findCredentialsOf(deps, caller, {
      shown: shownSources,
      deadline,
    });
    return {
      items: shownSources.map((source) =>
        presentSource(source, { caller, existing: existingCredentials }),
      ),
    };
  }
  const rankedHits = rankActions(query, sources, { limit, vocabulary: deps.searchIndexes });
  const shownHits = rankedHits.filter(
    ({ source, score }) => source.template.key !== platformKey || score >= platformScoreMin,
  );
  const shownSources = shownHits.map(({ source }) => source);
  const existingCredentials = await findCredentialsOf(deps, caller, {
    shown: shownSources,
    deadline,
  });
  const rows = shownHits.map((hit) =>
    presentAction(hit, { caller, existing: existingCredentials }),
  );
  return { items: await addSchemas(deps, caller, { rows, shown: shownSources }) };
}

/** Returns the searchable service that the caller calls by this name; throws `unknown_service`. */
async function getSource(
  { db }: Deps,
  { orgId, userId }: Principal,
  sources: readonly ServiceSource[],
  name: string,
): Promise<ServiceSource> {
  const source = sources.find(({ connected }) => connected?.name === name);
  if (source !== undefined) return source;
  // `org/github` stands for `github` where no service of the user has that name.
  const service = await getServiceByName(db, { orgId, userId, name });
  const other = sources.find(({ connected }) => connected?.service.name === service.name);
  if (other !== undefined) return other;
  throw new AppError('unknown_service', `The service "${name}" is disabled.`);
}

/**
 * The search result for one named action, with a schema that is cut until it fits; throws
 * `unknown_action`.
 */
async function presentNamedAction(
  deps: Deps,
  viewer: { readonly caller: Principal; readonly existing: ExistingCredentials },
  { source, action }: { readonly source: ServiceSource; readonly action: string },
): Promise<SearchRow> {
  const { actions } = source.index;
  const foundAction = actions.find(({ key }) => key === action);
  if (foundAction === undefined) {
    const keys = actions.map(({ key }) => key);
    const suggestion = nearestName(action, keys);
    throw new AppError(
      'unknown_action',
      suggestion === undefined
        ? `The service "${source.connected?.name}" has no action "${action}"; search it with a query.`
        : `The service "${source.connected?.name}" has no action "${action}". Did you mean "${suggestion}"?`,
      { details: { did_you_mean: suggestion } },
    );
  }
  const { orgId } = viewer.caller;
  const { actions: compiled } = await getTemplateVersion(deps, {
    orgId,
    template: source.template,
  });
  const row = presentAction({ source, action: foundAction, score: 1 }, viewer);
  return fitSchema(row, compiled[action], searchLimits.answerBytes);
}

/** Finds which credentials of the shown services exist. Does not ask about other services. */
function findCredentialsOf(
  { executor }: Deps,
  { orgId, userId }: Principal,
  { shown, deadline }: { shown: readonly ServiceSource[]; deadline: Deadline },
): Promise<ExistingCredentials> {
  const services = shown.flatMap(({ connected }) => connected?.service ?? []);
  return findCredentialsOfServices(executor, { orgId, userId, services }, deadline);
}

/**
 * Adds the parameter schemas, best row first, as far as the answer stays within its size; the other
 * rows get the names of the parameters.
 */
async function addSchemas(
  deps: Deps,
  { orgId }: Principal,
  { rows, shown }: { rows: readonly SearchRow[]; shown: readonly ServiceSource[] },
): Promise<SearchRow[]> {
  const templates = await Promise.all(
    shown.map(({ template }) => getTemplateVersion(deps, { orgId, template })),
  );
  const actions = rows.map(({ action }, at) => templates[at]?.actions[action ?? '']);
  return fitSchemas(rows, actions, searchLimits.answerBytes);
}
