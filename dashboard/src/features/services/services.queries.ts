import { queryOptions } from '@tanstack/solid-query';
import type { z } from 'zod';

import type { CallBody, callReply, ValidateBody, validateReply } from '#contracts/http/actions';
import type { pendingReply } from '#contracts/http/approvals';
import type { Identity } from '#contracts/http/identities';
import type { Rule } from '#contracts/http/rules';
import type { serviceTool, serviceToolDetail } from '#contracts/http/service-tools';
import type {
  ConnectedService,
  serviceDetail,
  updateServiceBody,
  upgradeReply,
  upgradeServiceBody,
} from '#contracts/http/services';
import { request } from '../../api/client.ts';
import { listAll } from '../../api/pages.ts';

export type ServiceDetail = z.infer<typeof serviceDetail>;
export type ServiceAction = ServiceDetail['actions'][number];
export type Tool = z.infer<typeof serviceTool>;
export type ToolDetail = z.infer<typeof serviceToolDetail>;
export type Upgrade = z.infer<typeof upgradeReply>;
export type CallAnswer = z.infer<typeof callReply> | z.infer<typeof pendingReply>;
export type DryRun = z.infer<typeof validateReply>;

const servicePath = (reference: string) => `/v1/services/${encodeURIComponent(reference)}` as const;
const toolPath = (reference: string, tool: string) =>
  `${servicePath(reference)}/tools/${encodeURIComponent(tool)}` as const;

export const serviceQuery = (reference: string) =>
  queryOptions({
    queryKey: ['services', reference],
    queryFn: ({ signal }) => request<ServiceDetail>(servicePath(reference), { signal }),
  });

export const toolsQuery = (reference: string) =>
  queryOptions({
    queryKey: ['services', reference, 'tools'],
    queryFn: ({ signal }) => listAll<Tool>(`${servicePath(reference)}/tools`, signal),
  });

export const toolQuery = (reference: string, tool: string) =>
  queryOptions({
    queryKey: ['services', reference, 'tools', tool],
    queryFn: ({ signal }) => request<ToolDetail>(toolPath(reference, tool), { signal }),
  });

/** What would change if the service were upgraded to this version. */
export const upgradeQuery = (reference: string, version: number) =>
  queryOptions({
    queryKey: ['services', reference, 'upgrade', version],
    queryFn: ({ signal }) =>
      request<Upgrade>(`${servicePath(reference)}/upgrade`, {
        method: 'POST',
        body: { dry_run: true, version },
        signal,
      }),
  });

export const agentsQuery = () =>
  queryOptions({
    queryKey: ['identities'],
    queryFn: ({ signal }) => listAll<Identity>('/v1/identities', signal),
  });

export const updateService = (change: {
  reference: string;
  body: z.input<typeof updateServiceBody>;
}) =>
  request<ConnectedService>(servicePath(change.reference), { method: 'PATCH', body: change.body });

export const disconnectService = (reference: string) =>
  request<void>(servicePath(reference), { method: 'DELETE' });

export const upgradeService = (upgrade: {
  reference: string;
  body: z.input<typeof upgradeServiceBody>;
}) =>
  request<Upgrade>(`${servicePath(upgrade.reference)}/upgrade`, {
    method: 'POST',
    body: upgrade.body,
  });

export const discoverTools = (reference: string) =>
  request<unknown>(`${servicePath(reference)}/discover`, { method: 'POST' });

export const acceptTool = (accepted: { reference: string; tool: string; hash: string }) =>
  request<ToolDetail>(`${toolPath(accepted.reference, accepted.tool)}/accept`, {
    method: 'POST',
    body: { hash: accepted.hash },
  });

export const callAction = (body: CallBody) =>
  request<CallAnswer>('/v1/actions/call', { method: 'POST', body });

export const validateAction = (body: ValidateBody) =>
  request<DryRun>('/v1/actions/validate', { method: 'POST', body });

/** The allow and deny rules whose pattern begins with this reference. */
export const allRulesOnNameQuery = (reference: string) =>
  queryOptions({
    queryKey: ['rules', reference, 'all'],
    queryFn: ({ signal }) => listAll<Rule>('/v1/rules', signal, { service: reference }),
  });
