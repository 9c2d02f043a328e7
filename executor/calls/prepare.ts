import type { Deadline } from '#bus';
import type { Call } from '#contracts/call';
import type { ToolPin } from '#contracts/mcp';
import type { CallTarget } from '#contracts/permit';
import { platformKey, platformTemplate } from '#contracts/platform';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { digestOf } from '#signing';
import type { Deps } from '../deps.ts';
import { parseAddress, requireHost } from '../domain/base-url.ts';
import { buildHttpRequest, httpKeyOf } from '../domain/build-http-request.ts';
import { buildActionRequest } from '../domain/build-request.ts';
import { buildToolRequest } from '../domain/build-tool-request.ts';
import { servedOperation } from '../domain/operation.ts';
import type { BuiltRequest, Params } from '../domain/request.ts';
import type { CallFacts } from './facts.ts';

export interface PreparedCall {
  readonly request: BuiltRequest;
  readonly template: CompiledTemplate | undefined;
  /** The action that is called; of a verb call the one it amounts to, if any. */
  readonly action: CompiledAction | undefined;
  /** Null for raw calls. */
  readonly baseUrl: string | null;
  /** Of a call to an MCP server: what was accepted of the tool, and how the server speaks. */
  readonly tool?: { readonly name: string; readonly pin: ToolPin; readonly version: string };
}

/** Builds the request that policy's facts speak of, and refuses to build any other. */
export async function prepareCall(
  { getTemplate }: Pick<Deps, 'getTemplate'>,
  { facts, call }: { facts: CallFacts; call: Call },
  deadline: Deadline,
): Promise<PreparedCall> {
  if (digestOf(call) !== facts.callDigest) throw notTheCall();
  const { target, callDigest, hosts } = facts;
  const baseUrl = target.kind === 'raw' ? null : target.baseUrl;
  const template =
    target.kind === 'raw'
      ? undefined
      : target.template.key === platformKey
        ? platformTemplate
        : await getTemplate(
            { orgId: facts.orgId, template: target.template, digest: facts.templateDigest },
            deadline,
          );
  if (call.kind === 'action') {
    const action = template?.actions[call.action];
    const isTarget =
      target.kind === 'action' &&
      target.action === call.action &&
      // The org's service is `org/…` in facts, with or without it in the call.
      [call.service, `org/${call.service}`].includes(target.service);
    if (!isTarget || action === undefined) throw notTheCall();
    const called = { facts, target, action, params: call.params };
    if (template?.runtime === 'mcp') return prepareToolCall(template, called);
    const request = buildActionRequest({
      action,
      params: call.params,
      baseUrl: target.baseUrl,
      callDigest,
    });
    requireHost(request.url, hosts);
    return { request, template, action, baseUrl };
  }

  if (target.kind === 'action') throw notTheCall();
  const request = buildHttpRequest({ call, baseUrl, callDigest });
  requireHost(request.url, hosts);
  // What is sent is, byte for byte, what the walk decided on.
  if (!facts.keys.includes(httpKeyOf(request))) throw notTheCall();
  return { request, template, action: operationOf(template, request, baseUrl), baseUrl };
}

interface ToolCall {
  readonly facts: CallFacts;
  readonly target: Extract<CallTarget, { kind: 'action' }>;
  readonly action: CompiledAction;
  readonly params: Params;
}

function prepareToolCall(
  template: CompiledTemplate,
  { facts, target, action, params }: ToolCall,
): PreparedCall {
  const { mcp } = template;
  const pin = mcp?.pins[action.key];
  if (!mcp || pin === undefined || mcp.protocolVersion === null || target.runtime !== 'mcp') {
    throw notTheCall();
  }
  const { baseUrl } = target;
  const tool = { name: action.key, pin, version: mcp.protocolVersion };
  const request = buildToolRequest({ action, params, baseUrl, ...tool });
  requireHost(request.url, facts.hosts);
  return { request, template, action, baseUrl, tool };
}

function operationOf(
  template: CompiledTemplate | undefined,
  { method, url }: BuiltRequest,
  baseUrl: string | null,
): CompiledAction | undefined {
  // Every tool of an MCP server has the same address, so a request there is none of them for certain.
  if (template === undefined || baseUrl === null || template.runtime === 'mcp') return undefined;
  const prefix = new URL(baseUrl).pathname.replace(/\/+$/, '');
  return servedOperation(template, {
    method,
    path: parseAddress(url).pathname.slice(prefix.length),
  });
}

function notTheCall(): AppError {
  return new AppError('unauthenticated', 'The call is not the one that was decided on.');
}
