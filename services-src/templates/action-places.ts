import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { ActionServer } from '#contracts/template-server';
import { isServedAt } from './service-address.ts';
import { serversOf } from './servers.ts';

/** A template reduced to those of its actions that go to one server. */
export interface TemplatePart {
  /** Absent for the actions that go to the base URL of the service. */
  readonly server?: ActionServer;
  readonly template: CompiledTemplate;
}

/** A base URL to which calls of a service go, with the actions that go there. */
export interface Place {
  readonly baseUrl: string;
  readonly template: CompiledTemplate;
}

/**
 * Parts are computed once for each template, because other caches have part objects as their keys.
 */
const knownParts = new WeakMap<CompiledTemplate, readonly TemplatePart[]>();

/** The parts of a template: first the actions without a server of their own, then those of each server. */
export function partsOf(template: CompiledTemplate): readonly TemplatePart[] {
  const known = knownParts.get(template);
  if (known !== undefined) return known;
  const byServer = Map.groupBy(Object.values(template.actions), ({ server }) =>
    server === undefined ? '' : JSON.stringify([server.url, server.basePath]),
  );
  const own = byServer.get('') ?? [];
  byServer.delete('');
  const parts: TemplatePart[] =
    byServer.size === 0
      ? [{ template }]
      : [
          { template: restrictTo(template, own) },
          ...[...byServer.values()].flatMap((actions) => {
            const [first] = actions;
            return first?.server === undefined
              ? []
              : [{ server: first.server, template: restrictTo(template, actions) }];
          }),
        ];
  knownParts.set(template, parts);
  return parts;
}

function restrictTo(
  template: CompiledTemplate,
  actions: readonly CompiledAction[],
): CompiledTemplate {
  return { ...template, actions: Object.fromEntries(actions.map((each) => [each.key, each])) };
}

/**
 * The base URL to which an action of a service goes. Undefined when the action is off: it has a
 * server of its own, a base URL was given for the service, and the template does not say where the
 * action is below such a URL.
 */
export function actionBaseUrlOf(
  template: Pick<CompiledTemplate, 'server' | 'servers'>,
  { server }: { readonly server?: ActionServer | undefined },
  baseUrl: string,
): string | undefined {
  if (server === undefined) return baseUrl;
  if (serversOf(template).some((each) => isServedAt(each, baseUrl))) return server.url;
  return server.basePath === undefined ? undefined : baseUrl + server.basePath;
}

/** Why an action with a server of its own is off in a service at this base URL. */
export function reasonOff({ server }: { readonly server?: ActionServer | undefined }): string {
  return `It goes to ${server?.url}, and the service is at a base URL that was given for it`;
}

/**
 * The places to which the calls of a service at this base URL go. The base URL itself comes first.
 */
export function placesOf(template: CompiledTemplate, baseUrl: string): readonly Place[] {
  return partsOf(template).flatMap((part) => {
    const url = actionBaseUrlOf(template, part, baseUrl);
    return url === undefined ? [] : [{ baseUrl: url, template: part.template }];
  });
}

/** The URLs of the servers that single actions declare. */
export function actionServerUrlsOf(template: CompiledTemplate): readonly string[] {
  const urls = partsOf(template).flatMap(({ server }) =>
    server === undefined ? [] : [server.url],
  );
  return [...new Set(urls)];
}

/** The part of a template with an action and all other actions that go to the same server. */
export function partWith(template: CompiledTemplate, action: CompiledAction): CompiledTemplate {
  const part = partsOf(template).find((each) => Object.hasOwn(each.template.actions, action.key));
  return part?.template ?? template;
}
