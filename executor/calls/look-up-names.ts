import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { CompiledAction, CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionUrl } from '../domain/action-url.ts';
import { parseBaseUrl, requireHost } from '../domain/base-url.ts';
import { inject } from '../domain/inject.ts';
import { pick } from '../domain/pick.ts';
import type { Params } from '../domain/request.ts';
import { createScrubber } from '../domain/scrub.ts';
import { parseBoundedJson } from '../domain/shape-body.ts';
import type { Deps } from '../deps.ts';
import { loadCredentials } from './credentials.ts';
import type { CallFacts } from './facts.ts';

/**
 * Finds readable names for opaque ids, for the sentence that an approver reads. Never fails: a name
 * that cannot be found is left out (docs/reference/approvals.md#the-card).
 */
export type LookUpNames = (lookUp: {
  facts: CallFacts;
  action: CompiledAction;
  params: Params;
  baseUrl: string;
}) => Promise<Record<string, string>>;

const timeoutMs = 3_000;
const bytesMax = 256 * 1024;
const cachedMs = 60_000;

/** Names are cached per service and credential: an agent that asks ten times costs one request. */
export function createLookUpNames({
  egress,
  ...sources
}: Pick<Deps, 'egress' | 'vault' | 'openAccessToken' | 'authUrlOf'>): LookUpNames {
  const names = new LRUCache<string, string>({ max: 5_000, ttl: cachedMs });

  return async ({ facts, action, params, baseUrl }) => {
    const deadline = deadlineIn(timeoutMs);
    const { signal } = deadline;
    const found = await Promise.all(
      action.params.map(async (param) => {
        try {
          const name = await lookUp(param);
          return name === undefined ? [] : [[param.name, name] as const];
        } catch {
          return []; // The raw id is what the approver sees then.
        }
      }),
    );
    return Object.fromEntries(found.flat());

    async function lookUp(param: CompiledParam): Promise<string | undefined> {
      if (param.resolve === null || params[param.name] === undefined) return undefined;
      const { get, pick: path } = param.resolve;
      const url = actionUrl(lookUpAction(action, get), params, parseBaseUrl(baseUrl));
      requireHost(url, facts.hosts);
      const credentialIds = facts.injections.map(({ credentialId }) => credentialId).join();
      const cacheKey = JSON.stringify([facts.orgId, credentialIds, url, path]);
      const cached = names.get(cacheKey);
      if (cached !== undefined) return cached;
      const credentials = await loadCredentials(sources, { facts, url }, deadline);
      const addressed = inject({ url, headers: [['accept', 'application/json']] }, credentials);
      const response = await egress.request({
        method: 'GET',
        ...addressed,
        totalTimeoutMs: timeoutMs,
        maxBytes: bytesMax,
        circuit: facts.orgId,
        signal,
      });
      if (response.status !== 200) return undefined;
      const json = parseBoundedJson(new TextDecoder().decode(response.body));
      const name = readable(json === undefined ? undefined : pick(json, path));
      if (name === undefined) return undefined;
      const clean = createScrubber(credentials.map(({ value }) => value))
        .text(name)
        .slice(0, 100);
      names.set(cacheKey, clean);
      return clean;
    }
  };
}

function readable(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  return typeof value === 'number' ? String(value) : undefined;
}

/** `resolve.get` as an action of its own: its placeholders are filled like any path of the template. */
function lookUpAction(action: CompiledAction, get: string): CompiledAction {
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
