import { describe, expect, it } from 'vitest'
import { describeLauncherFailure } from './launcher-failure.ts'

describe('why a launcher could not fetch a server', () => {
  it.each([
    [
      "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/nowhere\nnpm error 404\nnpm error 404  The requested resource 'nowhere@*' could not be found or you do not have permission to access it.",
      'package "nowhere" does not exist in the npm registry; correct its name in "args", or sign in with "npm login" if it is private',
    ],
    [
      "npm ERR! 404  '@nobody/server@latest' is not in this registry.",
      'package "@nobody/server" does not exist in the npm registry; correct its name in "args", or sign in with "npm login" if it is private',
    ],
    [
      'npm error code ETARGET\nnpm error notarget No matching version found for is-odd@99.1.\nnpm error notarget In most cases',
      'the npm registry has no "is-odd@99.1"; correct the version in "args"',
    ],
    [
      'npm error could not determine executable to run\nnpm error A complete log',
      'its npm package contains no program; check the name of the package in "args"',
    ],
    [
      'npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error network request to http://x/ failed',
      'the npm registry cannot be reached (ENOTFOUND); check the network, and the proxy of npm',
    ],
    [
      '  × No solution found when resolving tool dependencies:\n  ╰─▶ Because nowhere was not found in the package registry and you require nowhere, we can conclude',
      'package "nowhere" does not exist in the Python package index; correct its name in "args"',
    ],
    [
      '  ╰─▶ Because there is no version of mcp-server-time==99 and you require mcp-server-time==99, we can',
      'the Python package index has no "mcp-server-time==99"; correct the version in "args"',
    ],
    [
      'error: Request failed after 3 retries\n  Caused by: Failed to fetch: `https://pypi.org/simple/x/`\n  Caused by: dns error',
      'the Python package index cannot be reached; check the network and the proxy',
    ],
    [
      "docker: Error response from daemon: pull access denied for mcp/nowhere, repository does not exist or may require 'docker login'.",
      'image "mcp/nowhere" does not exist; correct its name in "args", or sign in with "docker login" if it is private',
    ],
    [
      'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
      'Docker is not running; start it',
    ],
  ])('is read from what it wrote: %s', (words, reason) => {
    expect(describeLauncherFailure(words)).toBe(reason)
  })

  it.each([['Error: boom'], ['fetch of 404 failed'], ['npm warn deprecated x@1']])(
    'is unknown otherwise: %s',
    (words) => {
      expect(describeLauncherFailure(words)).toBeUndefined()
    },
  )
})
