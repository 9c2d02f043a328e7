import { describe, expect, test } from 'vitest';

import { findNearestName, nearestNameOrTitle } from './nearest.ts';

describe('the suggestion for a misspelled name (nearestName)', () => {
  const knownNames = ['issues.create', 'issues.list', 'repos.delete'];

  test.for<[given: string, expected: string | undefined]>([
    ['issues.creat', 'issues.create'],
    ['ISSUES.LIST', 'issues.list'],
    ['issue_create', 'issues.create'],
    ['Repos Delete', 'repos.delete'],
    ['something.else.entirely', undefined],
    ['x'.repeat(500), undefined],
  ])('for "%s" is the known name %s', ([given, expected]) => {
    expect(findNearestName(given, knownNames)).toBe(expected);
  });

  test('does not exist when no names are known', () => {
    expect(findNearestName('x', [])).toBeUndefined();
  });
});

describe('the suggestion for a misspelled name or title (nearestNameOrTitle)', () => {
  const known = [
    { name: 'own', title: 'GitHub' },
    { name: 'github', title: 'GitHub' },
    { name: 'google_calendar', title: 'Google Calendar' },
    { name: 'outlook_mail', title: 'Microsoft Outlook' },
    { name: 'aws_s3', title: 'Amazon S3' },
  ];

  test.for<[given: string, expected: string | undefined]>([
    ['GitHub', 'github'],
    ['GITHUB', 'github'],
    ['git-hub', 'github'],
    ['githb', 'github'],
    ['Google Calendar', 'google_calendar'],
    ['google-calendar', 'google_calendar'],
    ['GoogleCalendar', 'google_calendar'],
    ['GOOGLE CALENDER', 'google_calendar'],
    ['Microsoft Outlook', 'outlook_mail'],
    ['amazon-s3', 'aws_s3'],
    ['microsoft outlok', 'outlook_mail'],
    ['Payroll', undefined],
    ['--', undefined],
  ])('for "%s" is the name %s', ([given, expected]) => {
    expect(nearestNameOrTitle(given, known)).toBe(expected);
  });
});
