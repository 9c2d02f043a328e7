import type { ConnectedService } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import { missingOf, readinessOf } from './credentials.ts';
import type { ExistingCredentials } from './credentials.ts';
import { enabledActions } from './present-template.ts';
import type { Service } from './service.ts';

/** A service as its callers see it. */
export function presentService(
  service: Service,
  {
    template,
    existing,
    newest,
  }: {
    template: CompiledTemplate;
    existing: ExistingCredentials;
    /** Version of the template that an upgrade would pin. */
    newest: number | null;
  },
): ConnectedService {
  const missing = missingOf(service, existing);
  return {
    id: service.id,
    name: service.name,
    template: service.template.key,
    template_tier: service.template.tier,
    template_version: service.template.version,
    newest_version: newest,
    title: service.title,
    status: service.isDisabled ? 'disabled' : readinessOf(service, existing),
    actions_count: enabledActions(template).length,
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
          },
        }),
    credentials: { secrets: { ...service.secrets }, connection: service.connection },
    ...(missing.length === 0 ? {} : { missing }),
    created_at: service.createdAt.toISOString(),
  };
}
