package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// Limits of lists and numbers.
const (
	maxClusters = 100
	maxPrices   = 1000
	maxKeys     = 16
	maxProxies  = 64
	maxDays     = 36_500
	// maxKind is the length of a label's value, or of a resource's name.
	maxKind = 316
)

// Validate returns the errors of a configuration, by field.
func (c ServerConfiguration) Validate() field.ErrorList {
	var errs field.ErrorList
	if c.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), c.APIVersion, []string{APIVersion}))
	}
	if c.Kind != Kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), c.Kind, []string{Kind}))
	}
	return append(errs, slices.Concat(
		validateListen(field.NewPath("listen"), c.Listen),
		validateClusters(field.NewPath("clusters"), c.Clusters),
		validateDatabase(field.NewPath("database"), c.Database),
		validateRetention(field.NewPath("retention"), c.Retention),
		validatePrices(field.NewPath("prices"), c.Prices),
		validateCurrency(field.NewPath("currency"), c.Currency),
		validateGPUs(field.NewPath("gpus"), c.GPUs),
		validateKeys(field.NewPath("gpuKindLabels"), c.GPUKindLabels),
		validateKeys(field.NewPath("userKeys"), c.UserKeys),
		validateIdentity(field.NewPath("identity"), c),
		validateBoard(field.NewPath("board"), c),
		c.Access.Validate(field.NewPath("access")),
		c.Limits.Validate(field.NewPath("limits")),
		c.TFJob.Validate(field.NewPath("tfjob")),
		c.MLflow.Validate(field.NewPath("mlflow")),
		validateMetrics(field.NewPath("metrics"), c.Metrics),
		validateAddress(field.NewPath("health", "bindAddress"), c.Health.BindAddress),
	)...)
}

func validateClusters(path *field.Path, clusters []Cluster) field.ErrorList {
	var errs field.ErrorList
	if len(clusters) > maxClusters {
		errs = append(errs, field.TooMany(path, len(clusters), maxClusters))
	}
	seen := map[string]bool{}
	for i, c := range clusters {
		at := path.Index(i)
		switch {
		case c.Name == "":
			errs = append(errs, field.Required(at.Child("name"),
				"set the name of the cluster in paths and in the history"))
		case seen[c.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		default:
			for _, problem := range validation.IsDNS1123Label(c.Name) {
				errs = append(errs, field.Invalid(at.Child("name"), c.Name, problem))
			}
		}
		seen[c.Name] = true
		if c.Kubeconfig != "" {
			errs = append(errs, validateFile(at.Child("kubeconfig"), c.Kubeconfig)...)
		} else if c.Context != "" {
			errs = append(errs, field.Invalid(at.Child("context"), c.Context,
				"requires a kubeconfig: set kubeconfig, or remove context"))
		}
	}
	return errs
}

func validateRetention(path *field.Path, r Retention) field.ErrorList {
	if r.Days < 0 || r.Days > maxDays {
		return field.ErrorList{field.Invalid(path.Child("days"), r.Days,
			fmt.Sprintf("must be from 0 (forever) to %d", maxDays))}
	}
	return nil
}

func validatePrices(path *field.Path, prices []Price) field.ErrorList {
	var errs field.ErrorList
	if len(prices) > maxPrices {
		errs = append(errs, field.TooMany(path, len(prices), maxPrices))
	}
	seen := map[string]bool{}
	for i, p := range prices {
		kind, price := path.Index(i).Child("gpuKind"), path.Index(i).Child("perGPUHour")
		switch {
		case p.GPUKind == "":
			errs = append(errs, field.Required(kind,
				"set the product as in the nodes' label, or the resource"))
		case len(p.GPUKind) > maxKind || strings.ContainsFunc(p.GPUKind, unprintable):
			errs = append(errs, field.Invalid(kind, p.GPUKind, fmt.Sprintf(
				"must be a label's value or a resource's name: at most %d printable characters, no spaces", maxKind)))
		case seen[p.GPUKind]:
			errs = append(errs, field.Duplicate(kind, p.GPUKind))
		}
		seen[p.GPUKind] = true
		switch {
		case p.PerGPUHour == "":
			errs = append(errs, field.Required(price, "set the price of one GPU for an hour, such as 2.75"))
		case !p.PerGPUHour.valid():
			errs = append(errs, field.Invalid(price, string(p.PerGPUHour),
				"must be a decimal number such as 2.75: from 0, below 1000000000, at most 6 decimals"))
		}
	}
	return errs
}

var currencies = regexp.MustCompile(`^[A-Z]{3}$`)

func validateCurrency(path *field.Path, currency string) field.ErrorList {
	if !currencies.MatchString(currency) {
		return field.ErrorList{field.Invalid(path, currency, "must be three capital letters, such as EUR or USD")}
	}
	return nil
}

func validateGPUs(path *field.Path, gpus []string) field.ErrorList {
	if len(gpus) == 0 {
		return field.ErrorList{field.Required(path, "add a resource, or remove the key")}
	}
	if i, err := framework.GPUs(gpus).Validate(); err != nil {
		return field.ErrorList{field.Invalid(path.Index(i), gpus[i], err.Error())}
	}
	return nil
}

// validateKeys checks keys of labels and annotations.
func validateKeys(path *field.Path, keys []string) field.ErrorList {
	var errs field.ErrorList
	if len(keys) > maxKeys {
		errs = append(errs, field.TooMany(path, len(keys), maxKeys))
	}
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			errs = append(errs, field.Duplicate(path.Index(i), key))
			continue
		}
		for _, problem := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path.Index(i), key, problem))
		}
	}
	return errs
}

// unprintable reports whether a character is a space or not printable ASCII.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }
