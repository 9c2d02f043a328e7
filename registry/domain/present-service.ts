import type { ConnectedService } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import { enabledActions } from './present-template.ts';
import type { Service } from './service.ts';

/** A service as its callers see it; `existing` are the references of secrets that are there. */
export function presentService(
  service: Service,
  {
    template,
    existing,
    newest,
  }: {
    template: CompiledTemplate;
    existing: ReadonlySet<string>;
    /** Version of the template that an upgrade would pin. */
    newest: number | null;
  },
): ConnectedService {
  const isComplete = Object.values(service.secrets).every((reference) => existing.has(reference));
  return {
    id: service.id,
    name: service.name,
    template: service.template.key,
    template_tier: service.template.tier,
    template_version: service.template.version,
    newest_version: newest,
    title: service.title,
    status: service.isDisabled ? 'disabled' : isComplete ? 'ready' : 'needs_credentials',
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
    credentials: { secrets: { ...service.secrets } },
    created_at: service.createdAt.toISOString(),
  };
}
