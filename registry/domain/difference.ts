import type { TemplateDifference } from '#contracts/http/templates';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';

type Part = TemplateDifference['actions']['changed'][number]['parts'][number];

/** What a version of a template changes against another, for whoever decides whether to take it. */
export function differenceBetween(
  before: CompiledTemplate,
  after: CompiledTemplate,
): TemplateDifference {
  const schemesBefore = new Map(before.auth.map((method) => [method.scheme, method]));
  const schemesAfter = new Map(after.auth.map((method) => [method.scheme, method]));
  const actionsBefore = new Map(Object.entries(before.actions));
  const [from, to] = [before.server?.url ?? null, after.server?.url ?? null];
  return {
    actions: {
      ...changesOf([...actionsBefore.keys()], Object.keys(after.actions)),
      changed: Object.entries(after.actions).flatMap(([action, now]) => {
        const parts = changedParts(actionsBefore.get(action) ?? now, now);
        return parts.length === 0 ? [] : [{ action, parts }];
      }),
    },
    hosts: changesOf(hostsOf(before), hostsOf(after)),
    base_url: from === to ? null : { from, to },
    auth: {
      ...changesOf([...schemesBefore.keys()], [...schemesAfter.keys()]),
      changed: [...schemesAfter]
        .filter(([scheme, now]) => !isSame(schemesBefore.get(scheme) ?? now, now))
        .map(([scheme]) => scheme),
      combinations: !isSame(before.security, after.security),
    },
  };
}

function changesOf(before: readonly string[], after: readonly string[]) {
  const [had, has] = [new Set(before), new Set(after)];
  return {
    added: after.filter((each) => !had.has(each)),
    removed: before.filter((each) => !has.has(each)),
  };
}

/** Fixed hosts, and the one that variables are filled into, as `{site}.example.com`. */
function hostsOf({ hosts, server }: CompiledTemplate): string[] {
  if (server === null || server.variables.length === 0) return hosts;
  const open = /^https?:\/\/([^/]*)/.exec(server.url)?.[1] ?? server.url;
  return [...new Set([open, ...hosts])];
}

const partsOf: Readonly<Record<Part, (action: CompiledAction) => unknown>> = {
  request: ({ method, path, body, responseType }) => [method, path, body, responseType],
  parameters: ({ params, paramsSchema }) => [params, paramsSchema],
  permission: ({ risk, scopeParam, disabled }) => [risk, scopeParam, disabled],
  description: ({ summary, description, disclose, redact }) => [
    summary,
    description,
    disclose,
    redact,
  ],
  security: ({ minimumScopes }) => minimumScopes,
};

function changedParts(before: CompiledAction, after: CompiledAction): Part[] {
  if (before === after) return [];
  const parts = Object.entries(partsOf) as [Part, (action: CompiledAction) => unknown][];
  return parts.flatMap(([part, read]) => (isSame(read(before), read(after)) ? [] : [part]));
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
