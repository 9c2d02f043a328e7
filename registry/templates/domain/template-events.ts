import type { Event, EventType } from '#contracts/events';
import type { AuditEntry } from '#contracts/audit';
import type { Principal } from '#contracts/vocabulary';
import { auditOf } from './audit-entry.ts';
import type { OwnTemplate } from './own-template.ts';

interface TemplateEvent {
  readonly type: EventType;
  readonly orgId: string;
  readonly audience: string[];
  readonly data: Event['data'];
  readonly audit: AuditEntry;
}

const sentences = {
  'template.saved': ({ version }: OwnTemplate) => `Saved version ${version}`,
  'template.published': ({ publishedVersion }: OwnTemplate) =>
    `Published version ${publishedVersion}`,
  'template.disabled': () => 'Disabled the use',
  'template.enabled': () => 'Enabled the use',
  'template.deleted': () => 'Deleted all versions',
} as const satisfies Partial<Record<EventType, (template: OwnTemplate) => string>>;

/**
 * The event of a change of a template, with its audit entry. The event makes other components drop
 * the template from their caches.
 */
export function templateEvent(
  type: keyof typeof sentences,
  caller: Principal,
  template: OwnTemplate,
): TemplateEvent {
  const { key, tier, ownerId, orgId } = template;
  const ownerText = tier === 'org' ? 'the org' : 'the user';
  const text = `${sentences[type](template)} of template ${key} of ${ownerText}`;
  return {
    type,
    orgId,
    audience: tier === 'user' ? [ownerId] : [],
    data: {
      template: key,
      tier,
      owner_id: tier === 'user' ? ownerId : null,
      version: template.version,
      published_version: template.publishedVersion,
    },
    audit: auditOf(caller, { service: null, template: key }, text),
  };
}
