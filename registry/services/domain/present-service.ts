import type { ConnectedService } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import { missingCredentialsOf, readinessOf, refusedCredentialsOf } from './credentials.ts';
import type { ExistingCredentials } from './credentials.ts';
import { enabledActions, reasonOffAt } from '../../templates/domain/enabled-actions.ts';
import type { Service } from './service.ts';

const disabledActionsMax = 50;

/** The representation of a service in the API. */
export function presentService(
  service: Service,
  {
    template,
    existing,
    newest,
  }: {
    template: CompiledTemplate;
    existing: ExistingCredentials;
    /** The template version that an upgrade of the service would pin. */
    newest: number | null;
  },
): ConnectedService {
  const actions = enabledActions(template);
  const disabledActions = actions.flatMap((action) => {
    const reason = reasonOffAt(template, action, service.baseUrl);
    return reason === undefined ? [] : [{ action: action.key, reason }];
  });
  const missingCredentials = missingCredentialsOf(service, existing);
  const refusedCredentials = refusedCredentialsOf(service, existing);
  return {
    id: service.id,
    name: service.name,
    template: service.template.key,
    template_tier: service.template.tier,
    template_version: service.template.version,
    newest_version: newest,
    title: service.title,
    status: service.isDisabled ? 'disabled' : readinessOf(service, existing),
    actions_count: actions.length - disabledActions.length,
    tier: service.tier,
    owner_id: service.ownerId,
    base_url: service.baseUrl,
    hosts: [...service.hosts],
    auto_allow_reads: service.autoAllowReads,
    ...(service.template.toolset === undefined
      ? {}
      : {
          tools: {
            version: service.template.toolset.version,
            asked_at: service.toolsAskedAt?.toISOString() ?? null,
            error: service.toolsError,
            waiting: service.toolsWaiting,
          },
        }),
    credentials: { secrets: { ...service.secrets }, connection: service.connection },
    ...(service.isBaseUrlGiven ? {} : { variables: { ...service.variables } }),
    ...(missingCredentials.length === 0 ? {} : { missing: missingCredentials }),
    ...(refusedCredentials.length === 0 ? {} : { refused: refusedCredentials }),
    ...(disabledActions.length === 0
      ? {}
      : { disabled_actions: disabledActions.slice(0, disabledActionsMax) }),
    created_at: service.createdAt.toISOString(),
  };
}
