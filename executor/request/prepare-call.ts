import type { Deadline } from '#bus';
import type { Call } from '#contracts/call';
import type { ToolPin } from '#contracts/mcp';
import type { CallTarget } from '#contracts/permit';
import { platformKey, platformTemplate } from '#contracts/platform';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import { placesOf } from '#templates';
import type { Deps } from '../deps.ts';
import { parseAddress, parseBaseUrl, requireHost } from './domain/base-url.ts';
import { buildHttpRequest, httpKeyOf } from './domain/build-http-request.ts';
import { buildActionRequest } from './domain/build-action-request.ts';
import { buildToolRequest } from './domain/build-tool-request.ts';
import { findServedOperation } from './domain/served-operation.ts';
import type { BuiltRequest, Params } from './domain/built-request.ts';
import type { PermitOrGap } from './permit.ts';

export interface PreparedCall {
  readonly request: BuiltRequest;
  readonly template: CompiledTemplate | undefined;
  /**
   * The called action. For a call by HTTP method and path, the action with the same operation, if
   * the template has one.
   */
  readonly action: CompiledAction | undefined;
  /** Null for a call by full URL. */
  readonly baseUrl: string | null;
  /**
   * For a call to an MCP server: the accepted definition of the tool, and the protocol revision.
   */
  readonly tool?: { readonly name: string; readonly pin: ToolPin; readonly version: string };
}

/**
 * Builds the request that a permit or a permission gap describes, and throws when the call
 * describes another request.
 */
export async function prepareCall(
  { getTemplate, bodyBytesMax }: Pick<Deps, 'getTemplate' | 'bodyBytesMax'>,
  { permit, call }: { permit: PermitOrGap; call: Call },
  deadline: Deadline,
): Promise<PreparedCall> {
  if (digestOf(call) !== permit.callDigest) throw notTheCallError();
  const { target, callDigest, hosts } = permit;
  const baseUrl = target.kind === 'raw' ? null : target.baseUrl;
  const template =
    target.kind === 'raw'
      ? undefined
      : target.template.key === platformKey
        ? platformTemplate
        : await getTemplate(
            { orgId: permit.orgId, template: target.template, digest: permit.templateDigest },
            deadline,
          );
  if (call.kind === 'action') {
    const action = template?.actions[call.action];
    const isSameTarget =
      target.kind === 'action' &&
      target.action === call.action &&
      // A permit names an org's service as `org/…`; in a call the prefix is optional.
      [call.service, `org/${call.service}`].includes(target.service);
    if (!isSameTarget || action === undefined) throw notTheCallError();
    requireOwnServer(action, target.baseUrl);
    const calledAction = { permit, target, action, params: call.params };
    if (template?.runtime === 'mcp') return prepareToolCall(template, calledAction);
    const request = buildActionRequest({
      action,
      params: call.params,
      baseUrl: target.baseUrl,
      callDigest,
      bodyBytesMax,
    });
    requireHost(request.url, hosts);
    return { request, template, action, baseUrl };
  }

  if (target.kind === 'action') throw notTheCallError();
  const request = buildHttpRequest({ call, baseUrl, callDigest, bodyBytesMax });
  requireHost(request.url, hosts);
  // The permission key of the request must equal, byte for byte, a key that policy decided on.
  if (!permit.keys.includes(httpKeyOf(request))) throw notTheCallError();
  return { request, template, action: findOperation(template, request, baseUrl), baseUrl };
}

interface ToolCall {
  readonly permit: PermitOrGap;
  readonly target: Extract<CallTarget, { kind: 'action' }>;
  readonly action: CompiledAction;
  readonly params: Params;
}

function prepareToolCall(
  template: CompiledTemplate,
  { permit, target, action, params }: ToolCall,
): PreparedCall {
  const { mcp } = template;
  const pin = mcp?.pins[action.key];
  if (!mcp || pin === undefined || mcp.protocolVersion === null || target.runtime !== 'mcp') {
    throw notTheCallError();
  }
  const { baseUrl } = target;
  const tool = { name: action.key, pin, version: mcp.protocolVersion };
  const request = buildToolRequest({ action, params, baseUrl, ...tool });
  requireHost(request.url, permit.hosts);
  return { request, template, action, baseUrl, tool };
}

function findOperation(
  template: CompiledTemplate | undefined,
  { method, url }: BuiltRequest,
  baseUrl: string | null,
): CompiledAction | undefined {
  // All tools of an MCP server have the same URL, so the URL does not show which tool is called.
  if (template === undefined || baseUrl === null || template.runtime === 'mcp') return undefined;
  const { origin, pathname } = parseAddress(url);
  // The operations at the service's base URL, and those on other servers of single actions that
  // have the same origin.
  const parts = placesOf(template, baseUrl).flatMap(({ baseUrl: placeUrl, template: part }) => {
    const place = parseBaseUrl(placeUrl);
    const isBelow = place.origin === origin && pathname.startsWith(`${place.prefix}/`);
    return isBelow ? [{ template: part, path: pathname.slice(place.prefix.length) }] : [];
  });
  return findServedOperation(parts, method);
}

/**
 * Throws if an action with its own server would be sent elsewhere. Policy decides where a call
 * goes. The template is the one by which policy decided, because the permit contains its digest, so
 * both must agree.
 */
function requireOwnServer({ server }: CompiledAction, baseUrl: string): void {
  if (server === undefined || baseUrl === server.url) return;
  if (server.basePath !== undefined && baseUrl.endsWith(server.basePath)) return;
  throw notTheCallError();
}

function notTheCallError(): AppError {
  return new AppError('unauthenticated', 'The call is not the one that was decided on.');
}
