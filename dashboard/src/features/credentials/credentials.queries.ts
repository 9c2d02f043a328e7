import { queryOptions } from '@tanstack/solid-query';
import type { z } from 'zod';

import type { Connection, CreateConnectionBody } from '#contracts/http/connections';
import type { Secret, secretVersion, updateSecretBody } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import type { TemplateDetail } from '#contracts/http/templates';
import { request } from '../../api/client.ts';
import { listAll } from '../../api/pages.ts';
import { askForConnection } from '../connect/connect.queries.ts';

type TemplateOfService = Pick<ConnectedService, 'template' | 'template_tier'>;
export type SecretVersion = z.infer<typeof secretVersion>;

const secretPath = (id: string) => `/v1/secrets/${encodeURIComponent(id)}` as const;
const connectionPath = (id: string) => `/v1/connections/${encodeURIComponent(id)}` as const;

export const secretVersionsQuery = (id: string) =>
  queryOptions({
    queryKey: ['secrets', id, 'versions'],
    queryFn: ({ signal }) => listAll<SecretVersion>(`${secretPath(id)}/versions`, signal),
  });

/** The template that a service was created from. */
export const templateOfServiceQuery = ({ template, template_tier: tier }: TemplateOfService) =>
  queryOptions({
    queryKey: ['template', template, tier],
    queryFn: ({ signal }) =>
      request<TemplateDetail>(`/v1/templates/${encodeURIComponent(template)}?tier=${tier}`, {
        signal,
      }),
    staleTime: 60_000,
  });

/** The version of a service's template to which the service is upgraded. */
export const templateVersionQuery = (
  { template, template_tier: tier }: TemplateOfService,
  version: number,
) =>
  queryOptions({
    queryKey: ['template', template, tier, version],
    queryFn: ({ signal }) =>
      request<TemplateDetail>(
        `/v1/templates/${encodeURIComponent(template)}?tier=${tier}&version=${version}`,
        { signal },
      ),
    // A version never changes. The form must not change either while a person fills it in.
    staleTime: 'static',
  });

export const updateSecret = (change: { id: string; body: z.input<typeof updateSecretBody> }) =>
  request<Secret>(secretPath(change.id), { method: 'PATCH', body: change.body });

export const restoreSecretVersion = (restored: { id: string; version: number }) =>
  request<Secret>(`${secretPath(restored.id)}/versions/${restored.version}/restore`, {
    method: 'POST',
  });

export const deleteSecret = (id: string) => request<void>(secretPath(id), { method: 'DELETE' });

export const refreshConnection = (id: string) =>
  request<Connection>(`${connectionPath(id)}/refresh`, { method: 'POST' });

export const deleteConnection = (id: string) =>
  request<void>(connectionPath(id), { method: 'DELETE' });

/**
 * Sends the browser to the page of the gateway that explains the access, which leads on to the
 * provider. Afterwards the person comes back to `returnTo`.
 */
export async function goToProvider(body: CreateConnectionBody, returnTo: string): Promise<void> {
  const asked = await askForConnection(body);
  const url = new URL(asked.authorization_url);
  url.searchParams.set('return_to', returnTo);
  location.assign(url);
}
