import type { TemplateDifference } from '#contracts/http/templates';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { serversOf } from '#templates';

type ActionPart = TemplateDifference['actions']['changed'][number]['parts'][number];

/**
 * Lists what changed between two versions of a template, for the person who decides on an upgrade.
 */
export function differenceBetween(
  before: CompiledTemplate,
  after: CompiledTemplate,
): TemplateDifference {
  const schemesBefore = new Map(before.auth.map((method) => [method.scheme, method]));
  const schemesAfter = new Map(after.auth.map((method) => [method.scheme, method]));
  const actionsBefore = new Map(Object.entries(before.actions));
  const [from, to] = [addressesOf(before), addressesOf(after)];
  return {
    actions: {
      ...addedAndRemoved([...actionsBefore.keys()], Object.keys(after.actions)),
      changed: Object.entries(after.actions).flatMap(([action, now]) => {
        const actionBefore = actionsBefore.get(action) ?? now;
        const parts = listChangedParts(actionBefore, now);
        if (parts.length === 0) return [];
        const [from, to] = [actionBefore.scopeParam, now.scopeParam];
        if (isSame(from, to)) return [{ action, parts }];
        return [{ action, parts, scope: { from: positionsOf(from), to: positionsOf(to) } }];
      }),
    },
    hosts: addedAndRemoved(hostsOf(before), hostsOf(after)),
    base_url: from === to ? null : { from, to },
    auth: {
      ...addedAndRemoved([...schemesBefore.keys()], [...schemesAfter.keys()]),
      changed: [...schemesAfter]
        .filter(([scheme, now]) => !isSame(schemesBefore.get(scheme) ?? now, now))
        .map(([scheme]) => scheme),
      combinations: !isSame(before.security, after.security),
    },
  };
}

/** The positions of an action's permission keys, by their labels or parameters. */
function positionsOf(scope: CompiledAction['scopeParam']): string[] {
  if (scope === null) return [];
  if (typeof scope === 'string') return [scope];
  return scope.map(({ label, params }) => label ?? params.join(', '));
}

function addedAndRemoved(before: readonly string[], after: readonly string[]) {
  const [had, has] = [new Set(before), new Set(after)];
  return {
    added: after.filter((each) => !had.has(each)),
    removed: before.filter((each) => !has.has(each)),
  };
}

/** The hosts of a template. A host with variables has the form `{site}.example.com`. */
function hostsOf(template: CompiledTemplate): string[] {
  const hostWithVariables = serversOf(template)
    .filter(({ variables }) => variables.length > 0)
    .map(({ url }) => /^https?:\/\/([^/]*)/.exec(url)?.[1] ?? url);
  return [...new Set([...hostWithVariables, ...template.hosts])];
}

/** The addresses of services, in the order of the template. */
function addressesOf(template: CompiledTemplate): string | null {
  const urls = serversOf(template).map(({ url }) => url);
  return urls.length === 0 ? null : urls.join(', ');
}

const readersByPart: Readonly<Record<ActionPart, (action: CompiledAction) => unknown>> = {
  request: ({ method, path, server, body, responseType, compose }) => [
    method,
    path,
    body,
    responseType,
    compose,
    server,
  ],
  parameters: ({ params, paramsSchema }) => [params, paramsSchema],
  permission: ({ risk, scopeParam, disabled }) => [risk, scopeParam, disabled],
  description: ({ summary, description, disclose, redact }) => [
    summary,
    description,
    disclose,
    redact,
  ],
  security: ({ security, minimumScopes }) => [security, minimumScopes],
};

function listChangedParts(before: CompiledAction, after: CompiledAction): ActionPart[] {
  if (before === after) return [];
  const parts = Object.entries(readersByPart) as [
    ActionPart,
    (action: CompiledAction) => unknown,
  ][];
  return parts.flatMap(([part, read]) => (isSame(read(before), read(after)) ? [] : [part]));
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
