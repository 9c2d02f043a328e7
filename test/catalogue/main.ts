/**
 * `npm run catalogue [template…]`: holds built-in templates against what their providers publish,
 * and calls each of their actions once on Prism's mock of it.
 */
import { orExit } from '#process';
import { differences } from './agreement.ts';
import { readCheck, readDocuments } from './check.ts';
import { play } from './play.ts';
import { compileFile, templateFiles } from './template-files.ts';

await orExit(async () => {
  const given = process.argv.slice(2);
  const files = given.length > 0 ? given.map((key) => `${key}.yaml`) : templateFiles;
  for (const file of files) {
    const template = compileFile(file);
    const check = readCheck(template.key);
    const documents = readDocuments(check.documents);
    const isExcepted = (action: string, about: string) =>
      check.exceptions.some((each) => each.action === action && each.about === about);
    const found = documents.length === 0 ? [] : differences(template, check, documents);
    const open = found.filter(({ action, about }) => !isExcepted(action, about));
    const objections = check.unplayable === undefined ? await play(template, check, documents) : [];

    const amount = Object.keys(template.actions).length;
    const judged = documents.length === 0 ? check.undocumented : `${open.length} differences`;
    const played = check.unplayable ?? `${objections.length} objections of the mock`;
    say(`${template.key}: ${amount} actions; ${judged}; ${played}`);
    for (const { action, about } of [...open, ...objections]) say(`  ${action}: ${about}`);
    if (open.length + objections.length > 0) process.exitCode = 1;
  }
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
