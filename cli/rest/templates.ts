import { setTimeout as sleep } from 'node:timers/promises';

import type { z } from 'zod';

import type { importedTemplate, upload } from '#contracts/http/template-import';
import type { savedTemplate, Template, TemplateReport } from '#contracts/http/templates';
import { exitCodes } from '../exit-codes.ts';
import { misuse } from '../refusal.ts';
import type { Api } from './api.ts';
import type { RestCall } from './command.ts';
import { GatewayRefusal } from './gateway-refusal.ts';
import { readTextFile, readVersionOption } from './input.ts';
import { showProgress } from './output.ts';
import type { Answer, Cell, Shown } from './output.ts';

type Upload = z.infer<typeof upload>;

/** The largest document that the gateway imports. */
const importBytesMax = 64 * 1_024 * 1_024;
const partCharacters = 700_000;
const progressPauseMs = 500;
const shownFindingsMax = 100;

/** `action-gateway templates validate <file>`: exits with 1 when the document has errors. */
export async function validateTemplate({ api, args: [file = ''] }: RestCall): Promise<Answer> {
  const openapi = await readTextFile(file);
  const report = await api.request<TemplateReport>('POST', '/v1/templates/validate', {
    body: { openapi },
  });
  return {
    data: report,
    show: tableOfReport(report),
    note: report.valid ? 'The template is valid.' : 'The template is not valid.',
    exitCode: report.valid ? exitCodes.done : exitCodes.failed,
  };
}

interface SaveOptions {
  readonly key?: string;
  readonly org?: true;
}

/**
 * `action-gateway templates save <file>`: saves a new draft, or with `--key` the next version of
 * that template. If the document has errors, it prints them as `templates validate` does.
 */
export async function saveTemplate(call: RestCall<SaveOptions>): Promise<Answer> {
  try {
    return await save(call);
  } catch (error) {
    // With --json the report is in the error.
    if (!(error instanceof GatewayRefusal) || call.isJson) throw error;
    const { error: code, report, message } = error.envelope;
    if (code !== 'template_invalid' || report === undefined) throw error;
    return {
      data: report,
      show: tableOfReport(report as unknown as TemplateReport),
      note: message,
      exitCode: exitCodes.failed,
    };
  }
}

async function save({
  api,
  args: [file = ''],
  options: { key, org },
}: RestCall<SaveOptions>): Promise<Answer> {
  const openapi = await readTextFile(file);
  const tier = org && 'org';
  const saved =
    key === undefined
      ? await api.request<z.infer<typeof savedTemplate>>('POST', '/v1/templates', {
          body: { openapi, ...(tier !== undefined && { tier }) },
        })
      : await api.request<z.infer<typeof savedTemplate>>('PUT', pathOf(key), {
          query: { tier },
          body: { openapi, version: (await getTemplate(api, key, org)).latest_version },
        });
  return {
    data: saved,
    show: tableOf(saved.warnings.map((each) => ({ severity: 'warning', ...each }))),
    note: `${saved.key} is saved as version ${saved.latest_version}.`,
  };
}

/**
 * `action-gateway templates publish <key>`: publishes the version that was saved last, or the one
 * of `--version`.
 */
export async function publishTemplate({
  api,
  args: [key = ''],
  options: { version, org },
}: RestCall<{ readonly version?: string; readonly org?: true }>): Promise<Answer> {
  const chosenVersion = readVersionOption(version);
  const published = await api.request<Template>('POST', `${pathOf(key)}/publish`, {
    query: { tier: org && 'org' },
    body: {
      version: chosenVersion ?? (await getTemplate(api, key, org)).latest_version,
    },
  });
  const text = `${published.key} is published in version ${published.published_version}.`;
  return { data: published, show: { text } };
}

interface ImportOptions {
  readonly key?: string;
  readonly operation?: readonly string[];
  readonly baseUrl?: string;
  readonly org?: true;
}

/**
 * `action-gateway templates import <file-or-url>`: creates a draft from an OpenAPI document. A file
 * is uploaded in parts. The terminal shows the progress of the upload and of the import.
 */
export async function importTemplate({
  api,
  args: [source = ''],
  options: { key, operation, baseUrl, org },
}: RestCall<ImportOptions>): Promise<Answer> {
  const body = {
    ...(key !== undefined && { key }),
    ...(operation !== undefined && { include_operations: operation }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(org !== undefined && { tier: 'org' }),
  };
  const isUrl = /^https?:\/\//i.test(source);
  const uploadId = isUrl ? undefined : await uploadFile(api, source);
  const imported = await watchUpload(
    api,
    uploadId,
    api.request<z.infer<typeof importedTemplate>>('POST', '/v1/templates/import', {
      body: { source: isUrl ? { url: source } : { upload_id: uploadId }, ...body },
    }),
  );
  const { template, operations, operations_count: total, findings } = imported;
  const included = operations.filter((each) => each.included).length;
  const publishCommand = api.spellCommand(
    'templates',
    'publish',
    template.key,
    ...(org === undefined ? [] : ['--org']),
  );
  return {
    data: imported,
    show: tableOf(findings),
    note: `${template.key} is saved as version ${template.latest_version}, with ${included} of ${total} operations. Publish it: ${publishCommand}`,
  };
}

async function uploadFile(api: Api, file: string): Promise<string> {
  const text = await readTextFile(file, importBytesMax);
  if (text === '') throw misuse('The document is empty.');
  let uploaded: Upload | undefined;
  for (let start = 0; start < text.length;) {
    const end = endOfPart(text, start + partCharacters);
    const part = text.slice(start, end);
    showProgress(`Uploading ${Math.floor((100 * start) / text.length)} % …`);
    uploaded =
      uploaded === undefined
        ? await api.request<Upload>('POST', '/v1/templates/uploads', { body: { text: part } })
        : await api.request<Upload>('POST', `/v1/templates/uploads/${uploaded.id}/parts`, {
            body: { text: part, offset: uploaded.size },
          });
    start = end;
  }
  return uploaded?.id ?? '';
}

/** The end of a part. A character of two code units is not cut in half. */
function endOfPart(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  const isCut = end < text.length && code >= 0xd8_00 && code <= 0xdb_ff;
  return isCut ? end - 1 : end;
}

/** Shows the progress of an import until its answer arrives. */
async function watchUpload<T>(
  api: Api,
  uploadId: string | undefined,
  answer: Promise<T>,
): Promise<T> {
  let isRunning = true;
  const ended = answer.finally(() => (isRunning = false));
  const watch = async () => {
    while (isRunning && process.stderr.isTTY) {
      if (uploadId !== undefined) showProgress(await describeProgress(api, uploadId));
      else showProgress('Importing …');
      await Promise.race([sleep(progressPauseMs), ended.catch(() => undefined)]);
    }
    showProgress('');
  };
  const [result] = await Promise.all([ended, watch().catch(() => undefined)]);
  return result;
}

async function describeProgress(api: Api, uploadId: string): Promise<string> {
  const { progress } = await api.request<Upload>('GET', `/v1/templates/uploads/${uploadId}`);
  if (progress === null) return 'Importing …';
  const { phase, done, total } = progress;
  return `Importing: ${phase}${total === null ? '' : ` ${done} of ${total} operations`} …`;
}

interface Finding {
  readonly severity: string;
  readonly line: number | null;
  readonly code: string;
  readonly message: string;
}

function tableOfReport({ errors, warnings }: TemplateReport): Shown {
  return tableOf([
    ...errors.map((each) => ({ severity: 'error', ...each })),
    ...warnings.map((each) => ({ severity: 'warning', ...each })),
  ]);
}

function tableOf(findings: readonly Finding[]): Shown {
  return {
    header: ['KIND', 'LINE', 'CODE', 'MESSAGE'],
    table: findings
      .slice(0, shownFindingsMax)
      .map(({ severity, line, code, message }): Cell[] => [severity, line, code, message]),
  };
}

const pathOf = (key: string) => `/v1/templates/${encodeURIComponent(key)}` as const;

/** The person's own template, or with `isOrgs` the org's template. */
function getTemplate(api: Api, key: string, isOrgs: true | undefined): Promise<Template> {
  const tier = isOrgs === undefined ? 'user' : 'org';
  return api.request<Template>('GET', pathOf(key), { query: { tier } });
}
