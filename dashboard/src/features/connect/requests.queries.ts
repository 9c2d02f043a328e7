import { queryOptions } from '@tanstack/solid-query';

import type { ServiceRequest } from '#contracts/http/requests';
import type { TemplateDetail } from '#contracts/http/templates';
import { isApiError, request } from '../../api/client.ts';
import { listAll } from '../../api/pages.ts';

const requestPath = (id: string) => `/v1/requests/${encodeURIComponent(id)}` as const;

export const serviceRequestQuery = (id: string) =>
  queryOptions({
    queryKey: ['requests', id],
    queryFn: ({ signal }) => request<ServiceRequest>(requestPath(id), { signal }),
  });

export const openRequestsQuery = () =>
  queryOptions({
    queryKey: ['requests', 'list', 'open'],
    queryFn: ({ signal }) => listAll<ServiceRequest>('/v1/requests', signal, { status: 'open' }),
  });

/**
 * The template that a request names: that of the org, otherwise the built-in one. A template of the
 * person with the same key is ignored, because the request does not mean it.
 */
export const requestedTemplateQuery = (key: string) =>
  queryOptions({
    queryKey: ['template', key, 'requested'],
    queryFn: async ({ signal }) => {
      const fetchTemplate = (tier: 'org' | 'global') =>
        request<TemplateDetail>(`/v1/templates/${encodeURIComponent(key)}?tier=${tier}`, {
          signal,
        });
      try {
        const templateOfOrg = await fetchTemplate('org');
        if (templateOfOrg.status === 'published') return templateOfOrg;
      } catch (error) {
        if (!isApiError(error, 'not_found')) throw error;
      }
      return fetchTemplate('global');
    },
    staleTime: 'static',
  });

export const declineRequest = ({ id, reason }: { id: string; reason: string }) =>
  request<ServiceRequest>(`${requestPath(id)}/decline`, {
    method: 'POST',
    body: reason === '' ? {} : { reason },
  });
