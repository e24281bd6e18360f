// Loaded by every Node of a step (NODE_OPTIONS): a tool that was started by its path, by another
// PATH or from a script becomes its shim in this directory, as if it had been called by its name.
// The tools that oraclepack starts itself do not load this.
'use strict';
const fs = require('fs');
const path = require('path');

const TOOLS = {
  '@steipete/oracle': 'oracle',
  '@openai/codex': 'codex',
  '@google/gemini-cli': 'gemini',
  'task-master-ai': 'task-master',
};

function toolOf(program) {
  let folder = path.dirname(program);
  while (!fs.existsSync(path.join(folder, 'package.json'))) {
    const above = path.dirname(folder);
    if (above === folder) return null;
    folder = above;
  }
  const description = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const tool = Object.hasOwn(TOOLS, description.name) ? TOOLS[description.name] : null;
  // A package may have other programs: an MCP server is no call.
  const bin = typeof description.bin === 'string' ? description.bin : (description.bin || {})[tool];
  return tool && bin && fs.realpathSync(path.join(folder, bin)) === program ? tool : null;
}

function shimOf(name) {
  try {
    const tool = toolOf(fs.realpathSync(name));
    const shim = tool && path.join(__dirname, tool);
    return shim && fs.existsSync(shim) ? shim : null;
  } catch {
    return null; // not a program on disk, or one that cannot be read: none of ours
  }
}

const shim = process.argv[1] && require('worker_threads').isMainThread && shimOf(process.argv[1]);
if (shim) {
  const { spawnSync } = require('child_process');
  const ended = spawnSync(shim, process.argv.slice(2), { stdio: 'inherit' });
  const number = ended.signal ? require('os').constants.signals[ended.signal] : 0;
  process.exit(ended.status ?? (number ? 128 + number : 125));
}
