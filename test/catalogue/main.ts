/**
 * `npm run catalogue [template…]` compares built-in templates with what their providers publish. It
 * also calls each action of these templates once on Prism's mock of the provider.
 */
import { orExit } from '#process';
import { findDifferences } from './agreement.ts';
import { readCheck, readDocuments } from './check.ts';
import { playExampleCalls } from './play.ts';
import { compileFile, templateFiles } from './template-files.ts';

await orExit(async () => {
  const givenArguments = process.argv.slice(2);
  const files =
    givenArguments.length > 0 ? givenArguments.map((key) => `${key}.yaml`) : templateFiles;
  for (const file of files) {
    const template = compileFile(file);
    const check = readCheck(template.key);
    const documents = readDocuments(check.documents);
    const isExcepted = (action: string, about: string) =>
      check.exceptions.some((each) => each.action === action && each.about === about);
    const foundDifferences =
      documents.length === 0 ? [] : findDifferences(template, check, documents);
    const openDifferences = foundDifferences.filter(
      ({ action, about }) => !isExcepted(action, about),
    );
    const objections =
      check.unplayable === undefined ? await playExampleCalls(template, check, documents) : [];

    const actionCount = Object.keys(template.actions).length;
    const documentVerdict =
      documents.length === 0 ? check.undocumented : `${openDifferences.length} differences`;
    const mockVerdict = check.unplayable ?? `${objections.length} objections of the mock`;
    printLine(`${template.key}: ${actionCount} actions; ${documentVerdict}; ${mockVerdict}`);
    for (const { action, about } of [...openDifferences, ...objections])
      printLine(`  ${action}: ${about}`);
    if (openDifferences.length + objections.length > 0) process.exitCode = 1;
  }
});

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
