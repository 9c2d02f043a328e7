import { isDeepStrictEqual } from 'node:util';

import type { Gap, Injection } from '#contracts/permit';
import { AppError } from '#errors';
import { templateDigest } from '#templates';
import { actionDisabledError, requireBaseUrl } from '../calls/action-facts.ts';
import {
  connectionMissingError,
  findConnection,
  refusalOfConnection,
} from '../calls/connections.ts';
import { findSecret, findServiceCredentials } from '../calls/credentials.ts';
import type { Lookups } from '../deps.ts';
import { getConnectedService } from '../services/connected-service.ts';
import { mayGoTo } from '../services/domain/hosts.ts';
import { staleApprovalError } from './stale.ts';

/**
 * Throws unless the service, its template version, its address and every credential are still the
 * approved ones.
 */
export async function checkUnchanged(lookups: Lookups, gap: Gap): Promise<void> {
  const [host = ''] = gap.hosts;
  await Promise.all([checkSecrets(lookups, gap, host), checkConnections(lookups, gap, host)]);
  const { target } = gap;
  if (target.kind === 'raw') return;

  const { service, template } = await getConnectedService(lookups, gap, target.service);
  if (service.id !== target.serviceId) {
    throw staleApprovalError(
      'service',
      `The name ${target.service} stands for another service now.`,
    );
  }
  if (
    !isDeepStrictEqual(service.template, target.template) ||
    templateDigest(template) !== gap.templateDigest
  ) {
    throw staleApprovalError(
      'template',
      `The service ${service.name} uses another template version now.`,
    );
  }
  const action = target.kind === 'action' ? template.actions[target.action] : undefined;
  if (target.kind === 'action' && (action === undefined || action.disabled)) {
    throw actionDisabledError(service.name, target.action);
  }
  const baseUrl =
    action === undefined ? service.baseUrl : requireBaseUrl(template, action, service);
  if (baseUrl !== target.baseUrl) {
    throw staleApprovalError('service', `The service ${service.name} has another address now.`);
  }
  const injections = await findServiceCredentials(lookups, {
    owner: gap,
    service,
    template,
    host,
    isKeyed: target.kind === 'verb',
    action: action ?? null,
  }).catch((error: unknown) => {
    throw toCredentialChange(error);
  });
  const approvedInjections =
    target.kind === 'verb' ? gap.injections.slice(0, injections.length) : gap.injections;
  if (!isDeepStrictEqual(injections, approvedInjections)) throw credentialChangedError();
}

async function checkSecrets(lookups: Lookups, gap: Gap, host: string): Promise<void> {
  const injections = gap.injections.filter(({ kind }) => kind === 'secret');
  const secretDescriptions = await lookups.describeSecrets(gap, namesOf(injections));
  const isKeyed = gap.target.kind !== 'action';
  for (const injection of injections) {
    const secret = findSecret(secretDescriptions, injection.credentialName);
    if (secret === undefined) throw missingSecretError(injection);
    const isSame =
      secret.id === injection.credentialId && secret.reference === injection.credentialName;
    if (!isSame || !mayGoTo(secret, host, { isKeyed })) throw credentialChangedError();
  }
}

/**
 * Throws unless the connections are still the approved ones. A refreshed token is not a change,
 * because it belongs to the same account.
 */
async function checkConnections(lookups: Lookups, gap: Gap, host: string): Promise<void> {
  const injections = gap.injections.filter(({ kind }) => kind === 'connection');
  const url = gap.target.kind === 'raw' ? null : gap.target.baseUrl;
  const connectionDescriptions = await lookups.describeConnections(gap, namesOf(injections));
  for (const injection of injections) {
    const connection = findConnection(connectionDescriptions, injection.credentialName);
    if (connection === undefined) throw connectionMissingError(injection.credentialName);
    const isSame =
      connection.id === injection.credentialId && connection.reference === injection.credentialName;
    if (!isSame) throw credentialChangedError();
    // The scopes are not checked here, because the check of the service covers them.
    const refusal = refusalOfConnection(connection, { host, url, scopeNeeds: [] });
    if (refusal !== undefined) throw toCredentialChange(refusal);
  }
}

function namesOf(injections: readonly Injection[]): string[] {
  return [...new Set(injections.map(({ credentialName }) => credentialName))];
}

/**
 * Converts the error for a credential that may no longer go to the host: it reports a change since
 * the approval.
 */
function toCredentialChange(error: unknown): unknown {
  const isHostRefusal = error instanceof AppError && error.code === 'host_not_allowed';
  return isHostRefusal ? credentialChangedError() : error;
}

function missingSecretError({ credentialName }: Injection): AppError {
  return new AppError(
    'credential_missing',
    `The secret "${credentialName}" is gone. Create it again, then repeat the call.`,
    { details: { secret: credentialName } },
  );
}

function credentialChangedError(): AppError {
  return staleApprovalError(
    'credential',
    'The call would go out with another credential than was approved.',
  );
}
