import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { CompiledAction, CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionUrlOf } from '../request/domain/action-url.ts';
import { parseBaseUrl, requireHost } from '../request/domain/base-url.ts';
import { injectCredential, secretTextsOf } from '../request/domain/inject.ts';
import { valueAt } from './domain/value-at.ts';
import { createScrubber } from '../answers/domain/scrub.ts';
import { parseBoundedJson } from '../answers/domain/shape-body.ts';
import type { Deps, LookUpNames } from '../deps.ts';
import { loadCredentials } from './load-credentials.ts';

const timeoutMs = 3_000;
const bytesMax = 256 * 1024;
const cachedMs = 60_000;

/**
 * Looks up names, and caches them per service and credential, so that repeated calls look a name up
 * only once.
 */
export function createLookUpNames({
  egress,
  ...sources
}: Pick<
  Deps,
  'egress' | 'vault' | 'openAccessToken' | 'authUrlOf' | 'derivedTokens'
>): LookUpNames {
  const cachedNames = new LRUCache<string, string>({ max: 5_000, ttl: cachedMs });

  return async ({ permit, action, params, baseUrl }) => {
    const deadline = deadlineIn(timeoutMs);
    const { signal } = deadline;
    const lookedUpNames = await Promise.all(
      action.params.map(async (param) => {
        try {
          const name = await lookUp(param);
          return name === undefined ? [] : [[param.name, name] as const];
        } catch {
          return []; // The name is left out, and the approver sees the raw id.
        }
      }),
    );
    return Object.fromEntries(lookedUpNames.flat());

    async function lookUp(param: CompiledParam): Promise<string | undefined> {
      if (param.resolve === null || params[param.name] === undefined) return undefined;
      const { get, pick: path } = param.resolve;
      const url = actionUrlOf(toLookUpAction(action, get), params, parseBaseUrl(baseUrl));
      requireHost(url, permit.hosts);
      const credentialIds = permit.injections.map(({ credentialId }) => credentialId).join();
      const cacheKey = JSON.stringify([permit.orgId, credentialIds, url, path]);
      const cached = cachedNames.get(cacheKey);
      if (cached !== undefined) return cached;
      const credentials = await loadCredentials(sources, { permit, url }, deadline);
      const requestWithCredentials = injectCredential(
        { method: 'GET', url, headers: [['accept', 'application/json']], body: null },
        credentials,
      );
      const response = await egress.request({
        method: 'GET',
        ...requestWithCredentials,
        totalTimeoutMs: timeoutMs,
        maxBytes: bytesMax,
        circuit: permit.orgId,
        signal,
      });
      if (response.status !== 200) return undefined;
      const json = parseBoundedJson(new TextDecoder().decode(response.body));
      const name = toReadableNames(json === undefined ? undefined : valueAt(json, path));
      if (name === undefined) return undefined;
      const scrubbedBody = createScrubber(secretTextsOf(credentials)).text(name).slice(0, 100);
      cachedNames.set(cacheKey, scrubbedBody);
      return scrubbedBody;
    }
  };
}

function toReadableNames(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  return typeof value === 'number' ? String(value) : undefined;
}

/**
 * Makes an action from the path in `resolve.get`, so that the path's placeholders are filled in
 * like those of any action.
 */
function toLookUpAction(action: CompiledAction, get: string): CompiledAction {
  const placeholders = new Set([...get.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name));
  const params = action.params
    .filter((param) => placeholders.has(param.name))
    .map((param) => ({
      ...param,
      in: 'path' as const,
      style: 'simple' as const,
      explode: false,
      allowReserved: false,
    }));
  return { ...action, method: 'GET', path: get, params };
}
