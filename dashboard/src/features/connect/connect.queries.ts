import { queryOptions } from '@tanstack/solid-query';
import type { z } from 'zod';

import type {
  Connection,
  CreateConnectionBody,
  requestedConnection,
} from '#contracts/http/connections';
import type { OauthApp, OauthAppBody } from '#contracts/http/oauth-apps';
import type { ServiceRequest } from '#contracts/http/requests';
import type { Rule } from '#contracts/http/rules';
import type { Secret, SecretDetail, createSecretBody } from '#contracts/http/secrets';
import type { ConnectedService, createServiceBody } from '#contracts/http/services';
import type { Template, TemplateDetail } from '#contracts/http/templates';
import { isApiError, request } from '../../api/client.ts';
import { sendSecret } from '../../api/send-secret.ts';
import { listAll } from '../../api/pages.ts';

export const templateQuery = (key: string) =>
  queryOptions({
    queryKey: ['template', key],
    queryFn: ({ signal }) =>
      request<TemplateDetail>(`/v1/templates/${encodeURIComponent(key)}`, { signal }),
    // The template is loaded only once, because the form must not change while a person fills it
    // in.
    staleTime: 'static',
  });

export const templatesQuery = () =>
  queryOptions({
    queryKey: ['templates'],
    queryFn: ({ signal }) => listAll<Template>('/v1/templates', signal),
    staleTime: 60_000,
  });

/**
 * The org's app at the provider. Its `source` is `none` if no admin has registered one. Null if the
 * gateway does not know the provider.
 */
export const oauthAppQuery = (provider: string) =>
  queryOptions({
    queryKey: ['oauth-app', provider],
    queryFn: async ({ signal }): Promise<OauthApp | null> => {
      try {
        return await request<OauthApp>(`/v1/oauth-apps/${encodeURIComponent(provider)}`, {
          signal,
        });
      } catch (error) {
        if (isApiError(error, 'not_found')) return null;
        throw error;
      }
    },
  });

export const secretsQuery = () =>
  queryOptions({
    queryKey: ['secrets'],
    queryFn: ({ signal }) => listAll<SecretDetail>('/v1/secrets', signal),
  });

export const connectionsQuery = () =>
  queryOptions({
    queryKey: ['connections'],
    queryFn: ({ signal }) => listAll<Connection>('/v1/connections', signal),
  });

export const servicesQuery = () =>
  queryOptions({
    queryKey: ['services'],
    queryFn: ({ signal }) => listAll<ConnectedService>('/v1/services', signal),
  });

/**
 * The allow rules whose pattern begins with this reference, even if they are bound to another
 * service.
 */
export const rulesOnNameQuery = (reference: string) =>
  queryOptions({
    queryKey: ['rules', reference],
    queryFn: ({ signal }) =>
      listAll<Rule>('/v1/rules', signal, { service: reference, effect: 'allow' }),
  });

export const storeSecret = (body: z.input<typeof createSecretBody>) =>
  sendSecret((asIs) =>
    request<Secret>('/v1/secrets', { method: 'POST', body: { ...body, ...asIs } }),
  );

export const askForConnection = (body: CreateConnectionBody) =>
  request<z.infer<typeof requestedConnection>>('/v1/connections', { method: 'POST', body });

export const createService = (body: z.input<typeof createServiceBody>) =>
  request<ConnectedService>('/v1/services', { method: 'POST', body });

export const putOauthApp = ({ provider, body }: { provider: string; body: OauthAppBody }) =>
  request<OauthApp>(`/v1/oauth-apps/${encodeURIComponent(provider)}`, { method: 'PUT', body });

/** Asks the admins to connect the service for the org. */
export const askAdmin = ({
  template,
  name,
  reason,
}: {
  template: string;
  name: string;
  reason: string | null;
}) =>
  request<ServiceRequest>('/v1/requests', {
    method: 'POST',
    body: { kind: 'service', tier: 'org', template, name, ...(reason === null ? {} : { reason }) },
  });
