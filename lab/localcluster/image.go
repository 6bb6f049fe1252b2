package localcluster

import "mlplatform.example.com/trainingjob-operator/lab/localcluster/image"

// Image is a container image that is made from files of this machine: for Options.Images.
type Image = image.Image
