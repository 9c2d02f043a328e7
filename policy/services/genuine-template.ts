import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import type { Database } from '#database';
import { AppError } from '#errors';
import type { Logger } from '#telemetry';
import { authoredDigest } from '#templates';
import { obeysTemplate } from './domain/accepted-tools.ts';
import { isKnownTemplate, isRecordedVersion } from './known-template.sql.ts';

/**
 * Throws unless the template is the requested one, is built in or belongs to this org, and has the
 * content that was shipped or published. The registry stores and compiles templates, but it must
 * not decide where calls go, how risky they are or what people see of them.
 */
export async function checkGenuine(
  { db, logger }: { db: Database; logger: Logger },
  { orgId, template: reference }: { orgId: string; template: TemplateReference },
  template: CompiledTemplate,
): Promise<void> {
  const digest = authoredDigest(template);
  const isGenuine =
    isRequestedTemplate(template, reference) &&
    (reference.tier !== 'org' || reference.ownerId === orgId) &&
    obeysTemplate(template) &&
    (await isKnownTemplate(db, { orgId, template: reference, digest }));
  if (isGenuine) return;
  const { key, tier, version } = reference;
  const fields = { orgId, template: key, tier, version, digest };
  logger.error(fields, 'the registry returned a template that was neither shipped nor published');
  if (tier === 'global' || (await isRecordedVersion(db, { orgId, template: reference }))) {
    throw notGenuine(key);
  }
  throw notRecorded(reference);
}

/** Whether the registry returned the requested template. */
export function isRequestedTemplate(
  template: CompiledTemplate,
  reference: TemplateReference,
): boolean {
  return (
    template.key === reference.key &&
    template.tier === reference.tier &&
    template.ownerId === reference.ownerId &&
    template.version === reference.version
  );
}

/**
 * The error for a template version that policy has no record of. Either an earlier release
 * published the version before versions were recorded, or the registry has forged it.
 */
function notRecorded({ key, tier, version }: TemplateReference): AppError {
  const route = `POST /v1/templates/${key}/publish?tier=${tier} {"version": ${version}}`;
  return new AppError(
    'unavailable',
    `Version ${version} of the template "${key}" was never recorded as published, so nothing was sent. If it is what its author meant, publish it again (${route}); otherwise tell an admin.`,
    { details: { component: 'registry', reason: 'template_not_genuine', template: key } },
  );
}

export function notGenuine(key: string): AppError {
  return new AppError(
    'unavailable',
    `The template "${key}" is not as it was shipped or published, so nothing was sent. Tell an admin.`,
    { details: { component: 'registry', reason: 'template_not_genuine', template: key } },
  );
}
