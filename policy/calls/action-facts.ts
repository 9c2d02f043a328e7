import type { ActionCall } from '#contracts/call';
import type { ServiceRecord } from '#contracts/bus/registry';
import { serviceWords } from '#contracts/service-words';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { readNumberTexts } from '#exact-json';
import type { CheckValue } from '#json-schema';
import {
  actionBaseUrl,
  actionPath,
  actionQuery,
  givenValue,
  reasonOff,
  refuseOverrideInBody,
  renderDescription,
  scopeOf,
  serviceTitleOf,
  templateDigest,
} from '#templates';
import { listActionNames, listAddressNames, namesOf } from '../denials/domain/deny-names.ts';
import type { RatedName } from '../denials/domain/deny-names.ts';
import { isJudgedAsRequest } from '../denials/domain/judged-as-request.ts';
import { listShadowedNames } from '../denials/domain/request-names.ts';
import type { Lookups, Owner } from '../deps.ts';
import { getConnectedService } from '../services/connected-service.ts';
import { parseBaseUrl } from '../services/domain/hosts.ts';
import type { CallFacts } from './call-facts.ts';
import { cutDescription, isSafeMethod } from './call-facts.ts';
import { findServiceCredentials } from './credentials.ts';
import { findNearestAction } from './domain/nearest-action.ts';
import { withDefaults } from './domain/action-params.ts';
import type { Params } from './domain/action-params.ts';
import { invalidParamsError } from './domain/invalid-params.ts';
import { findUnfaithfulValues } from './domain/plain-json.ts';
import { keysOfCall } from './domain/scope-values.ts';

/**
 * Establishes the facts of an action call. Throws for a call that could not work even if it were
 * allowed.
 */
export async function establishActionFacts(
  lookups: Lookups,
  owner: Owner & { readonly identityId: string },
  call: ActionCall,
): Promise<CallFacts> {
  const { service, template, action, baseUrl } = await getCalledAction(lookups, owner, call);
  await checkParams(call.params, action, {
    check: lookups.getValidator(template, action),
    caller: owner,
  });
  const params = withDefaults(action, call.params);
  const keys = keysOfCall(service.name, action, params);
  const { host, prefix } = parseBaseUrl(baseUrl);
  const body = bodyOf(action, params);
  refuseOverrideInBody(body, action.body?.mediaType, (name) => isDeclared(action, name));
  const path = actionPath(action, params);
  // This throws if the query cannot be encoded, so that no person is asked about such a call.
  actionQuery(action, params);
  const request = {
    method: action.method,
    path: prefix + path,
    ...(template.runtime === 'mcp' ? { tool: action.key } : {}),
  };
  const injections = await findServiceCredentials(lookups, {
    owner,
    service,
    template,
    host,
    isKeyed: false,
    action,
  });
  const { risk } = action;
  return {
    target: {
      kind: 'action',
      service: service.name,
      serviceId: service.id,
      template: service.template,
      action: action.key,
      baseUrl,
      ...(template.runtime === 'mcp' ? { runtime: 'mcp' as const } : {}),
    },
    templateDigest: templateDigest(template),
    service: service.name,
    serviceWords: serviceWords({
      service: service.name,
      template: template.key,
      title: serviceTitleOf(service.template, template),
    }),
    compiledAction: action,
    template: template.key,
    action: action.key,
    serviceId: service.id,
    injections,
    host,
    keys,
    scope: scopeOf(action),
    risk,
    nonRead: !isSafeMethod(action.method) || risk !== 'read' || template.runtime === 'mcp',
    description: cutDescription(renderDescription(action.description, params)),
    isOpenRead: isOpenRead(service, action),
    allowsReads: service.autoAllowReads,
    ownNames: () =>
      listOwnNames({ service, template, action }, { keys, path, request, injections, host }),
    request,
    isJudgedAsRequest: isJudgedAsRequest(template, action),
  };
}

/**
 * Throws `invalid_params` for parameters that the schema of the action forbids, or that would
 * change on the way to the service.
 */
async function checkParams(
  params: Params,
  { paramsSchema }: CompiledAction,
  { check, caller }: { check: CheckValue; caller: Owner & { readonly identityId: string } },
): Promise<void> {
  const numbers = readNumberTexts(params, paramsSchema);
  const schemaIssues = await check(numbers.value, caller.orgId + caller.userId, caller.identityId);
  const issues = [
    ...findUnfaithfulValues(params, ''),
    ...(schemaIssues.length > 0 ? schemaIssues : numbers.issues),
  ];
  if (issues.length > 0) throw invalidParamsError(issues);
}

/**
 * The names under which deny rules match the call. The names of the HTTP request that the call
 * sends are not included.
 */
function listOwnNames(
  {
    service,
    template,
    action,
  }: Awaited<ReturnType<typeof getConnectedService>> & {
    action: CompiledAction;
  },
  {
    keys,
    path,
    request,
    injections,
    host,
  }: Pick<CallFacts, 'keys' | 'request' | 'injections' | 'host'> & { path: string },
): RatedName[] {
  const serviceNames = namesOf(service.name, template.key);
  const { risk } = action;
  return [
    ...listActionNames(serviceNames, { action: action.key, keys, risk }),
    ...listShadowedNames(serviceNames, template, { action, path, risk }),
    ...listAddressNames({ ...request, host, risk }, injections),
  ];
}

/**
 * Step 3 of the permission walk: whether a call of this action is an open read. A read may use a
 * method other than GET, HEAD or OPTIONS only if the template is built in or published by an admin.
 */
export function isOpenRead(service: ServiceRecord, action: CompiledAction): boolean {
  const mayUseAnyMethod = isSafeMethod(action.method) || service.template.tier !== 'user';
  return service.autoAllowReads && action.risk === 'read' && mayUseAnyMethod;
}

/** Finds the called action with its service, and the base URL to which the call goes. */
async function getCalledAction(lookups: Lookups, owner: Owner, call: ActionCall) {
  const { service, template } = await getConnectedService(lookups, owner, call.service);
  const action = requireEnabledAction(template, service, call.action);
  return { service, template, action, baseUrl: requireBaseUrl(template, action, service) };
}

function requireEnabledAction(
  template: CompiledTemplate,
  service: ServiceRecord,
  name: string,
): CompiledAction {
  const action = Object.hasOwn(template.actions, name) ? template.actions[name] : undefined;
  if (action === undefined) {
    const enabled = Object.values(template.actions).filter(({ disabled }) => !disabled);
    const keys = enabled.map(({ key }) => key);
    const nearestName = findNearestAction(name, keys);
    const hint =
      nearestName === undefined
        ? ' Search the service for its actions.'
        : ` Did you mean "${nearestName}"?`;
    throw new AppError('unknown_action', `The service ${service.name} has no such action.${hint}`, {
      details: {
        action: name,
        ...(nearestName === undefined ? {} : { did_you_mean: nearestName }),
      },
    });
  }
  if (action.disabled) throw actionDisabledError(service.name, name);
  return action;
}

/**
 * Whether the action's schema declares this member of the body. If not, the caller has made up the
 * name.
 */
function isDeclared({ body, params }: CompiledAction, name: string): boolean {
  const bodyParams = params.filter((param) => param.in === 'body');
  if (body?.wholeBody !== true) return bodyParams.some(({ wireName }) => wireName === name);
  const properties = bodyParams[0]?.schema['properties'];
  return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name);
}

/**
 * The base URL to which calls of the action go: that of the action's own server if there is one,
 * otherwise that of the service. Throws for an action that is switched off in the service.
 */
export function requireBaseUrl(
  template: CompiledTemplate,
  action: CompiledAction,
  { name, baseUrl }: Pick<ServiceRecord, 'name' | 'baseUrl'>,
): string {
  const actionUrl = actionBaseUrl(template, action, baseUrl);
  if (actionUrl !== undefined) return actionUrl;
  throw new AppError(
    'action_disabled',
    `The action ${action.key} of ${name} is off. ${reasonOff(action)}. Use another action, or connect ${template.key} without a base URL as a service of another name.`,
    { details: { reason: 'action_server', server: action.server?.url, base_url: baseUrl } },
  );
}

export function actionDisabledError(service: string, action: string): AppError {
  return new AppError(
    'action_disabled',
    `The action ${action} of ${service} is disabled. Use another action, or ask an admin to enable it.`,
  );
}

/**
 * The body that the parameters form. Undefined if the whole body is one parameter and the call
 * gives no value for it.
 */
function bodyOf(action: CompiledAction, params: Params): JsonValue | undefined {
  if (action.body?.wholeBody === true) return params['body'];
  const members = action.params.flatMap((param): [string, JsonValue][] => {
    const value = givenValue(params, param.name);
    return param.in === 'body' && value !== undefined ? [[param.wireName, value]] : [];
  });
  return Object.fromEntries(members);
}
