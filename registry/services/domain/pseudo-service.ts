import type { z } from 'zod';

import type { serviceDetail } from '#contracts/http/services';
import { platformService, platformTemplate } from '#contracts/platform';
import type { CompiledTemplate } from '#contracts/template';
import { presentActions } from '../../templates/domain/present-template.ts';
import { rawHttpTemplate } from '../../templates/domain/raw-http.ts';

/** The templates of the services that every org has without connecting them, by service name. */
const templatesByName: ReadonlyMap<string, CompiledTemplate> = new Map([
  [rawHttpTemplate.key, rawHttpTemplate],
  [platformTemplate.key, platformTemplate],
]);

/**
 * Presents `http` or `platform` like a connected service; undefined for other names. These services
 * belong to no org and have no credentials: each call by full URL names its own secrets.
 */
export function presentPseudoService(name: string): z.infer<typeof serviceDetail> | undefined {
  const template = templatesByName.get(name);
  if (template === undefined) return undefined;
  const actions = presentActions(template);
  return {
    id: platformService.id,
    name,
    template: template.key,
    template_tier: template.tier,
    template_version: template.version,
    newest_version: template.version,
    title: template.title,
    status: 'ready',
    actions_count: actions.length,
    tier: 'org',
    owner_id: null,
    base_url: template.server?.url ?? '',
    hosts: [...template.hosts],
    auto_allow_reads: template.key === platformTemplate.key,
    credentials: { secrets: {}, connection: null },
    created_at: new Date(0).toISOString(),
    description: template.description,
    actions,
  };
}
