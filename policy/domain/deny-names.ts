import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { HttpMethod, JsonValue, Risk } from '#contracts/vocabulary';
import { argumentText } from './action-params.ts';
import { encodeArgument, encodeName, withoutOrg } from './keys.ts';
import { findServedOperations, isSameMethod } from '#templates';
import type { FoundOperation } from '#templates';
import type { DenyName } from './patterns.ts';

/** A request as it will reach its host, as far as policy knows it. */
export interface SentRequest {
  readonly method: HttpMethod;
  /** Normalised, from the root of the host. */
  readonly path: string;
  /** Undefined at a replay, where only path and method are at hand. */
  readonly query: Readonly<Record<string, JsonValue>> | undefined;
  readonly body: JsonValue | undefined;
  /** The tool that a call to an MCP server is for; anything else that reaches one may be for any. */
  readonly tool?: string | undefined;
}

/** A deny name with the risk that its template gives it. */
export interface RatedName extends DenyName {
  readonly risk: Risk;
}

/** A service or template through which the same host can be reached. */
export interface Neighbour {
  /** Every name it goes by: instance name, the same without `org/`, template key. */
  readonly names: readonly string[];
  /** Path of its base URL, without a slash at its end. */
  readonly prefix: string;
  readonly template: CompiledTemplate;
}

export function namesOf(service: string, templateKey: string): string[] {
  return [...new Set([service, withoutOrg(service), templateKey])];
}

/** The names of an action call itself: its service's, all of them, with the argument if it has one. */
export function ownNames(
  services: readonly string[],
  { action, arg, risk }: { action: string; arg: string | undefined; risk: Risk },
): RatedName[] {
  return services.map((service) => ({
    service: encodeName(service),
    action: encodeName(action),
    arg: arg === undefined ? undefined : encodeArgument(arg),
    risk,
  }));
}

/** The names that a request also has as an operation of a neighbour (decisions: The walk, 1). */
export function neighbourNames(
  { names, prefix, template }: Neighbour,
  request: SentRequest,
  risk: Risk,
): RatedName[] {
  if (template.runtime === 'mcp') return toolNames({ names, prefix, template }, request, risk);
  const isBelow = request.path === prefix || request.path.startsWith(`${prefix}/`);
  const path = isBelow ? request.path.slice(prefix.length) : undefined;
  const found = path === undefined ? [] : operationsAt(template, { method: request.method, path });
  const operations =
    found.length === 0
      ? [
          { action: unknownAction(template, request.method), arg: undefined, risk },
          ...(isBelow ? riskierActions(template, request.method, risk) : []),
        ]
      : found.map((operation) => ({
          action: encodeName(operation.action.key),
          arg: argumentOf(operation, request),
          risk: higher(risk, operation.action.risk),
        }));
  return names.flatMap((service) =>
    operations.map((operation) => ({ service: encodeName(service), ...operation })),
  );
}

/** Nothing where none is listed: then it may be any of them, one that is spelled alike or not. */
function operationsAt(
  template: CompiledTemplate,
  request: { method: string; path: string },
): readonly FoundOperation[] {
  const { listed, alike } = findServedOperations(template, request);
  return listed.length === 0 ? [] : [...listed, ...alike];
}

/** What is not listed may also be one of the actions that are riskier than its method says. */
function riskierActions(template: CompiledTemplate, method: string, risk: Risk) {
  return Object.values(template.actions)
    .filter((action) => isSameMethod(action.method, method) && higher(risk, action.risk) !== risk)
    .map((action) => ({ action: encodeName(action.key), arg: undefined, risk: action.risk }));
}

/**
 * Every tool of an MCP server has the same address: a call of ours says which one it is for, and
 * in any other request only its body would, which is not ours to interpret.
 */
function toolNames({ names, template }: Neighbour, request: SentRequest, risk: Risk): RatedName[] {
  const { tool } = request;
  if (tool === undefined) {
    const action = unknownAction(template, request.method);
    // It may be any tool there is, also one that nobody has looked at yet.
    const atMost = ['GET', 'HEAD', 'OPTIONS'].includes(request.method) ? risk : 'delete';
    return names.map((service) => ({
      ...{ service: encodeName(service), action, arg: undefined },
      risk: atMost,
    }));
  }
  const action = Object.hasOwn(template.actions, tool) ? template.actions[tool] : undefined;
  const found =
    action === undefined
      ? { arg: undefined, risk }
      : { arg: argumentOf({ action, pathValues: {} }, request), risk: higher(risk, action.risk) };
  return names.map((service) => ({
    service: encodeName(service),
    action: encodeName(tool),
    ...found,
  }));
}

function unknownAction(template: CompiledTemplate, method: string): DenyName['action'] {
  const isPossible = (action: CompiledAction) => isSameMethod(action.method, method);
  const actions = Object.values(template.actions);
  return {
    among: actions.filter(isPossible).map((action) => action.key),
    notAmong: actions.filter((action) => !isPossible(action)).map((action) => action.key),
  };
}

function argumentOf(
  { action, pathValues }: FoundOperation,
  { query, body }: SentRequest,
): string | undefined {
  const param = action.params.find((each) => each.name === action.scopeParam);
  if (param === undefined) return undefined;
  const { name, wireName } = param;
  const value =
    param.in === 'path'
      ? pathValues[name]
      : param.in === 'query'
        ? memberOf(query, wireName)
        : param.in === 'body'
          ? bodyValue(action, body, wireName)
          : undefined;
  return value === undefined ? undefined : encodeArgument(argumentText(value, JSON.stringify));
}

function bodyValue(
  action: CompiledAction,
  body: JsonValue | undefined,
  name: string,
): JsonValue | undefined {
  return action.body?.wholeBody === true ? body : memberOf(body, name);
}

/** Only a single plain value is certain to be read the same way by the upstream. */
function memberOf(value: unknown, name: string): JsonValue | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
  if (!Object.hasOwn(value, name)) return undefined;
  const member: unknown = (value as Record<string, unknown>)[name];
  const isPlain = ['string', 'number', 'boolean'].includes(typeof member);
  return isPlain ? (member as JsonValue) : undefined;
}

const order: readonly Risk[] = ['read', 'write', 'delete'];

export function higher(left: Risk, right: Risk): Risk {
  return order.indexOf(left) >= order.indexOf(right) ? left : right;
}

export function isAtLeast(risk: Risk, least: Risk): boolean {
  return order.indexOf(risk) >= order.indexOf(least);
}
