import type { CompiledAction } from '#contracts/template';
import { compileTemplate } from '../../../registry/compiler/domain/template.ts';
import { createImporter } from '../../../registry/import/importer.ts';
import type { PublishedDocument } from '../../support/prism.ts';
import { operationsOf } from './operations.ts';
import type { Operation } from './operations.ts';

/**
 * The number of operations in one template. The number of a template's actions and its bytes are
 * limited, and some documents have more operations.
 */
const operationsPerTemplate = 300;

/**
 * Imports and compiles operations as the registry does. If there are more operations than one
 * template can hold, creates several templates.
 */
export async function compileOperations(
  document: PublishedDocument,
  selectOperations: (all: readonly Operation[]) => readonly Operation[],
): Promise<{ actions: CompiledAction[]; operations: Operation[]; refused: string[] }> {
  await using importer = createImporter();
  const text = JSON.stringify(document);
  const chosenOperations = selectOperations(operationsOf(document));
  const actions: CompiledAction[] = [];
  const refused: string[] = [];
  for (let at = 0; at < chosenOperations.length; at += operationsPerTemplate) {
    const selectedOperations = chosenOperations.slice(at, at + operationsPerTemplate);
    const includeOperations = selectedOperations.map(
      ({ method, path }) => `${method.toUpperCase()} ${path}`,
    );
    const imported = await importer.importDocument({ text, includeOperations, key: 'judged' });
    if (!imported.ok) throw new Error(JSON.stringify(imported.findings.slice(0, 5)));
    for (const { operation_id, skipped } of imported.operations) {
      if (skipped) refused.push(`${operation_id}: ${skipped.code} ${skipped.message}`);
    }
    const { template, report } = compileTemplate(JSON.stringify(imported.document), {
      tier: 'org',
      ownerId: '0197e2b4-0000-7000-8000-000000000001',
      version: 1,
      isDraft: true,
    });
    if (template === undefined) throw new Error(JSON.stringify(report.errors.slice(0, 5)));
    actions.push(...Object.values(template.actions));
  }
  return { actions, operations: [...chosenOperations], refused };
}
