import type { ActionCall } from '#contracts/call';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { AppError, nearestName } from '#errors';
import { keyCharactersMax, actionKey } from '#permission-key';
import { canonicalJson } from '#signing';
import {
  actionPath,
  actionQuery,
  givenValue,
  refuseOverrideInBody,
  renderDescription,
  templateDigest,
} from '#templates';
import { argumentText, withDefaults } from '../domain/action-params.ts';
import type { Params } from '../domain/action-params.ts';
import { addressNames, namesOf, ownNames } from '../domain/deny-names.ts';
import type { SentRequest } from '../domain/deny-names.ts';
import { parseBaseUrl } from '../domain/hosts.ts';
import { invalidParam, invalidParams } from '../domain/invalid-call.ts';
import { findUnfaithful } from '../domain/plain-json.ts';
import { readQuery } from '../domain/sent-query.ts';
import type { Lookups, Owner } from '../lookups/lookups.ts';
import type { CallFacts } from './call-facts.ts';
import { cutDescription, isSafeMethod } from './call-facts.ts';
import { findServiceCredentials } from './credentials.ts';
import { getConnectedService } from './services.ts';

/** Facts of a service plus action; refuses what could not work whoever allowed it. */
export async function establishActionFacts(
  lookups: Lookups,
  owner: Owner,
  call: ActionCall,
): Promise<CallFacts> {
  const { service, template } = await getConnectedService(lookups, owner, call.service);
  const action = getAction(template, service, call.action);
  const issues = [
    ...findUnfaithful(call.params, ''),
    ...(await lookups.getValidator(template, action)(call.params, owner.orgId + owner.userId)),
  ];
  if (issues.length > 0) throw invalidParams(issues);

  const params = withDefaults(action, call.params);
  const arg = argumentOf(action, params);
  const tooLong = () =>
    invalidParam(action.scopeParam ?? 'params', 'is too long to be part of a permission key');
  // Encoding makes no text shorter, and takes long for a long one.
  if (arg !== undefined && arg.length > keyCharactersMax) throw tooLong();
  const key = actionKey(service.name, action.key, arg);
  if (key.key.length > keyCharactersMax) throw tooLong();
  const base = parseBaseUrl(service.baseUrl);
  const request = requestOf(action, params, {
    prefix: base.prefix,
    runtime: template.runtime,
  });
  refuseOverrideInBody(request.body, action.body?.mediaType, (name) => isNamed(action, name));
  const injections = await findServiceCredentials(lookups, {
    owner,
    service,
    template,
    host: base.host,
    isKeyed: false,
    minimumScopes: action.minimumScopes,
  });
  const { risk } = action;
  const isSafe = isSafeMethod(action.method);
  return {
    target: {
      kind: 'action',
      service: service.name,
      serviceId: service.id,
      template: service.template,
      action: action.key,
      baseUrl: service.baseUrl,
      ...(template.runtime === 'mcp' ? { runtime: 'mcp' as const } : {}),
    },
    templateDigest: templateDigest(template),
    service: service.name,
    template: template.key,
    action: action.key,
    serviceId: service.id,
    injections,
    host: base.host,
    keys: [key],
    risk,
    nonRead: !isSafe || risk !== 'read' || template.runtime === 'mcp',
    description: cutDescription(renderDescription(action.description, params)),
    isOpenRead: isOpenRead(service, action),
    allowsReads: service.autoAllowReads,
    ownNames: () => [
      ...ownNames(namesOf(service.name, template.key), {
        action: action.key,
        keyArg: arg === undefined ? undefined : key.arg,
        risk,
      }),
      ...addressNames({ ...request, host: base.host, risk }, injections),
    ],
    request,
  };
}

/** Step 3 of the walk: who wrote the template vouches for a read that is no GET. */
export function isOpenRead(service: ServiceRecord, action: CompiledAction): boolean {
  const isVouchedFor = isSafeMethod(action.method) || service.template.tier !== 'user';
  return service.autoAllowReads && action.risk === 'read' && isVouchedFor;
}

function getAction(
  template: CompiledTemplate,
  service: ServiceRecord,
  name: string,
): CompiledAction {
  const action = Object.hasOwn(template.actions, name) ? template.actions[name] : undefined;
  if (action === undefined) {
    const enabled = Object.values(template.actions).filter(({ disabled }) => !disabled);
    const meant = nearestName(
      name,
      enabled.map(({ key }) => key),
    );
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
    throw new AppError('unknown_action', `The service ${service.name} has no such action.${hint}`, {
      details: { action: name, ...(meant === undefined ? {} : { did_you_mean: meant }) },
    });
  }
  if (action.disabled) throw actionDisabled(service.name, name);
  return action;
}

/** Whether the body of an action has this member by its schema, and not by the caller's choice. */
function isNamed({ body, params }: CompiledAction, name: string): boolean {
  const inBody = params.filter((param) => param.in === 'body');
  if (body?.wholeBody !== true) return inBody.some(({ wireName }) => wireName === name);
  const properties = inBody[0]?.schema['properties'];
  return typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name);
}

export function actionDisabled(service: string, action: string): AppError {
  return new AppError(
    'action_disabled',
    `The action ${action} of ${service} is disabled. Use another action, or ask an admin to enable it.`,
  );
}

/** Undefined: the whole action, because it declares no scope or was called without it. */
function argumentOf(action: CompiledAction, params: Params): string | undefined {
  const { scopeParam } = action;
  if (scopeParam === null || !Object.hasOwn(params, scopeParam)) return undefined;
  const value = params[scopeParam];
  return value === undefined || value === null ? undefined : argumentText(value, canonicalJson);
}

function requestOf(
  action: CompiledAction,
  params: Params,
  { prefix, runtime }: { prefix: string; runtime: CompiledTemplate['runtime'] },
): SentRequest {
  const bodyMembers = action.params.flatMap((param): [string, JsonValue][] => {
    const value = givenValue(params, param.name);
    return param.in === 'body' && value !== undefined ? [[param.wireName, value]] : [];
  });
  return {
    method: action.method,
    path: prefix + actionPath(action, params),
    // As it will be sent: the members of an object may be parameters of their own.
    ...readQuery(actionQuery(action, params)),
    body: action.body?.wholeBody === true ? params['body'] : Object.fromEntries(bodyMembers),
    ...(runtime === 'mcp' ? { tool: action.key } : {}),
  };
}
