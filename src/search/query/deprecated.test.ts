import { describe, expect, it } from 'vitest'
import { sampleListing } from '../searcher-contract.ts'
import { isDeprecated } from './deprecated.ts'

const says = (description: string) =>
  isDeprecated(sampleListing('mcp__files__read_file', description, 'files'))

describe('isDeprecated', () => {
  it.each([
    'DEPRECATED: use read_text_file',
    'Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.',
    '⚠️ DEPRECATED: Use get_top_protocols or get_protocols_paginated instead.',
    'Deprecated, please use browser_get_markdown instead',
    '[Deprecated] Lists the rows of a table.',
    'Lists the rows of a table (deprecated).',
    '**This endpoint is deprecated.** Merges a forked collection back into its parent.',
    'Obsolete. Kept for old clients.',
    'Legacy tool: Get the current temperature of a city.',
    'Use `read_text_file` instead. Reads a file.',
    'Deprecated - use list_rows',
  ])('is true for %j', (description) => {
    expect(says(description)).toBe(true)
  })

  it.each([
    'Check if packages are deprecated',
    'Deprecates a version of a package, with a message for those who install it.',
    'Deprecated packages of a project, with their replacements',
    'Marks a feature flag as deprecated. Use it when nothing reads the flag.',
    'Used by agents to clean up deprecated toggles that are no longer in use.',
    'Executes raw SQL. Use `apply_migration` instead for DDL operations.',
    'For creating multiple tasks, use batch_create_tasks() instead.',
    'Use this instead of execute_command for locating files.',
    'Gets all keys of a project, including legacy anon keys.',
    'Legacy systems of a company, by age',
    'Deprecated-API scanner for a repository',
    'Obsolete, unused and vulnerable packages are listed',
    'Filters by status [deprecated, removed]',
    'Creates a web test. Multistep web tests are deprecated and not supported.',
  ])('is false for %j', (description) => {
    expect(says(description)).toBe(false)
  })
})
