// Loaded before a program: writes the processor time that it took, in microseconds, to file 3.
const { writeSync } = require('node:fs')

process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  writeSync(3, String(userCPUTime + systemCPUTime))
})
