/** The programs that are timed. Every contestant runs the same text. */
export const PRINT = 'print(1)';

export const IMPORTS =
  'import pandas as pd\nimport matplotlib\nmatplotlib.use("Agg")\nimport matplotlib.pyplot as plt\nprint(1)';

export const GROUP_BY = `import pandas as pd
import numpy as np
n = 20000
df = pd.DataFrame({"k": np.arange(n) % 50, "v": np.arange(n) * 0.5})
print(df.groupby("k")["v"].mean().sum())`;

export const CHINESE_BARS = `import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
fig, ax = plt.subplots(figsize=(8, 4))
ax.bar(["华东", "华南", "华北", "西南", "东北"], [320, 280, -45, 190, 130])
ax.set_title("各地区销售额（万元）")
ax.set_ylabel("销售额")
fig.savefig("bars.png", dpi=100)
print("done")`;
